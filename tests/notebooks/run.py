"""Runs notebooks and prints the number of pictures of each on a line.

If APEXMAP_RENDERED names a folder, each notebook also gets a copy there to read without Jupyter: Markdown with its outputs, and
PNG files.
"""

import base64
import io
import os
import pathlib
import re
import socket
import sys

import nbformat
from nbclient import NotebookClient
from PIL import Image


def run(path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}).execute()
    # An error while a picture is rendered is no error of the cell.
    for output in outputs(notebook):
        if output.output_type == "error":
            sys.exit(f"{path.name}: {output.ename}: {output.evalue}")
    return notebook


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def has_picture(output):
    return "image/png" in output.get("data", {})


def small_png(data):
    """A PNG with at most 128 colours, half of the size."""
    picture, file = Image.open(io.BytesIO(base64.b64decode(data))), io.BytesIO()
    picture.convert("RGB").quantize(128).save(file, "PNG", optimize=True)
    return file.getvalue()


def render(notebook, path, folder):
    """Writes the Markdown of a notebook with its outputs, and its pictures."""
    parts, pictures = [f"> A copy of [{path.name}](../{path.name}) with the outputs of one run on one machine."], 0
    for cell in notebook.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        for output in cell.get("outputs", []):
            if has_picture(output):
                pictures += 1
                picture = f"{path.stem}-{pictures}.png"
                pathlib.Path(folder, picture).write_bytes(small_png(output.data["image/png"]))
                parts.append(f"![picture {pictures} of the notebook]({picture})")
            else:
                text = output.text if output.output_type == "stream" else output.data["text/plain"]
                lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
                parts.append(f"```text\n{lines}\n```")
    text = "\n\n".join(parts) + "\n"
    private = [socket.gethostname(), os.environ["APEXMAP_RESULT"], os.environ["APEXMAP"]]
    for word in private:
        if re.search(rf"\b{re.escape(word)}\b", text):
            sys.exit(f"{path.name}: the outputs contain {word}, which belongs to this machine")
    pathlib.Path(folder, f"{path.stem}.md").write_text(text)


for path in map(pathlib.Path, sys.argv[1:]):
    notebook = run(path)
    if folder := os.environ.get("APEXMAP_RENDERED"):
        render(notebook, path, folder)
    print(path.name[0], sum(map(has_picture, outputs(notebook))))
