-- Module file for Lmod. Copy it to MODULEPATH/apexmap/0.2.0.lua and set the folders below.
-- The site file names the workers, so users need no --worker. docs/clusters.md lists its keys; `apexmap site --check` tests it.
local version = "0.2.0"
local prefix = pathJoin("/opt/apexmap", version)

help([[Measures how fast the memory and the network of a machine deliver data, and draws maps over locality.
`apexmap run` measures this node. `apexmap sweeps --all` lists the sweeps for several nodes.]])
whatis("Name: apexmap")
whatis("Version: " .. version)
whatis("Description: memory and network performance over locality")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
setenv("APEXMAP_CONFIG", pathJoin(prefix, "etc/site.toml"))
