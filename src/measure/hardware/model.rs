//! The names of processors, from `/proc/cpuinfo`, whose fields differ between architectures.

use super::files::SystemFiles;
use apexmap_base::distinct::distinct;
use std::borrow::Cow;
use std::collections::BTreeMap;

const CPUINFO: &str = "proc/cpuinfo";
/// They have the first processor. The kernel needs long for the whole file on large nodes.
const CPUINFO_BYTES: u64 = 1 << 14;

/// The fields that together name a processor. The first entry whose fields are all present counts.
const NAME_FIELDS: [&[&str]; 10] = [
    // x86, newer Itanium
    &["model name"],
    // LoongArch
    &["Model Name"],
    // MIPS, Alpha
    &["cpu model"],
    // POWER, SPARC, PA-RISC
    &["cpu"],
    // RISC-V, with and without a name
    &["uarch"],
    &["isa", "mvendorid", "marchid"],
    &["isa"],
    // Older Itanium
    &["arch", "family", "model"],
    // IBM Z
    &["vendor_id", "machine"],
    // ARM before its processors had part numbers
    &["Processor"],
];

/// As `lscpu` prints it; without a name, its numbers or the architecture. Several ARM parts are joined by `+`.
pub fn cpu_model(system: &dyn SystemFiles, parts: &BTreeMap<usize, Part>) -> String {
    let names = distinct(parts.values().map(|part| part.name()));
    if !names.is_empty() {
        return names.join(" + ");
    }
    let text = system.text_start(CPUINFO, CPUINFO_BYTES).unwrap_or_default();
    let values = |names: &[&str]| names.iter().map(|name| find_field(&text, name)).collect::<Option<Vec<_>>>();
    let name = NAME_FIELDS.into_iter().find_map(values).map(|values| values.join(" "));
    let architecture = || system.text("proc/sys/kernel/arch").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    name.unwrap_or_else(architecture)
}

fn find_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let inner_field = format!(" {name} = ");
    let value = |line: &'a str| {
        let colon = line.split_once(':').filter(|(field, _)| field.trim() == name);
        let (_, value) = colon.or_else(|| line.split_once(&inner_field))?;
        Some(value.trim()).filter(|value| !value.is_empty())
    };
    text.lines().find_map(value)
}

/// An ARM processor: the code of its implementer, and the part number that the implementer gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    implementer: u64,
    number: u64,
}

/// Names follow their hexadecimal numbers. Sources: Arm's manuals, the Linux kernel (`arch/arm64/include/asm/cputype.h`) and
/// util-linux (`lscpu-arm.c`).
const PARTS: [(u64, &str); 13] = [
    (
        0x41,
        "b76 ARM1176  c07 Cortex-A7  c08 Cortex-A8  c09 Cortex-A9  c0d Cortex-A17  c0f Cortex-A15  c0e Cortex-A17  \
         d01 Cortex-A32  d02 Cortex-A34  d03 Cortex-A53  d04 Cortex-A35  d05 Cortex-A55  d06 Cortex-A65  \
         d07 Cortex-A57  d08 Cortex-A72  d09 Cortex-A73  d0a Cortex-A75  d0b Cortex-A76  d0c Neoverse-N1  \
         d0d Cortex-A77  d0e Cortex-A76AE  d40 Neoverse-V1  d41 Cortex-A78  d42 Cortex-A78AE  d43 Cortex-A65AE  d44 Cortex-X1  d46 Cortex-A510  d47 Cortex-A710  \
         d48 Cortex-X2  d49 Neoverse-N2  d4a Neoverse-E1  d4b Cortex-A78C  d4c Cortex-X1C  d4d Cortex-A715  \
         d4e Cortex-X3  d4f Neoverse-V2  d80 Cortex-A520  d81 Cortex-A720  d82 Cortex-X4  d83 Neoverse-V3AE  d84 Neoverse-V3  \
         d85 Cortex-X925  d87 Cortex-A725  d88 Cortex-A520AE  d89 Cortex-A720AE  d8a C1-Nano  d8b C1-Pro  d8c C1-Ultra  d8e Neoverse-N3  \
         d8f Cortex-A320  d90 C1-Premium",
    ),
    (0x42, "516 ThunderX2"),
    (0x43, "0a0 ThunderX  0a1 ThunderX-88XX  0af ThunderX2-99xx  0b8 ThunderX3-T110"),
    (0x46, "001 A64FX  003 MONAKA"),
    (
        0x48,
        "d01 Kunpeng-920  d02 Kunpeng-920  d03 Kunpeng-920  d06 Kunpeng-950  d22 Kunpeng-920  d40 Cortex-A76  \
         d41 Cortex-A77",
    ),
    (0x4e, "000 Denver  003 Denver-2  004 Carmel  010 Olympus"),
    (0x50, "000 X-Gene"),
    (
        0x51,
        "001 Oryon  00f Scorpion  02d Scorpion  04d Krait  06f Krait  201 Kryo  205 Kryo  211 Kryo  800 Falkor-V1/Kryo  801 Kryo-V2  802 Kryo-3XX-Gold  803 Kryo-3XX-Silver  804 Kryo-4XX-Gold  \
         805 Kryo-4XX-Silver  c00 Falkor  c01 Saphira",
    ),
    (0x53, "001 Exynos-M1  002 Exynos-M3  003 Exynos-M4  004 Exynos-M5"),
    (
        0x61,
        "022 Icestorm-M1  023 Firestorm-M1  024 Icestorm-M1-Pro  025 Firestorm-M1-Pro  028 Icestorm-M1-Max  \
         029 Firestorm-M1-Max  032 Blizzard-M2  033 Avalanche-M2  034 Blizzard-M2-Pro  035 Avalanche-M2-Pro  \
         038 Blizzard-M2-Max  039 Avalanche-M2-Max",
    ),
    (0x6d, "d49 Azure-Cobalt-100"),
    (0x70, "303 FTC310  660 FTC660  661 FTC661  662 FTC662  663 FTC663  664 FTC664  862 FTC862"),
    (0xc0, "ac3 Ampere-1  ac4 Ampere-1a"),
];

impl Part {
    pub fn name(self) -> Cow<'static, str> {
        let names =
            PARTS.iter().find(|(implementer, _)| *implementer == self.implementer).map_or("", |(_, names)| names);
        let number = format!("{:03x}", self.number);
        let mut words = names.split_whitespace();
        while let (Some(other), Some(name)) = (words.next(), words.next()) {
            if other == number {
                return name.into();
            }
        }
        format!("implementer {:#04x} part {:#05x}", self.implementer, self.number).into()
    }
}

pub fn read_parts(system: &dyn SystemFiles, threads: &[usize]) -> BTreeMap<usize, Part> {
    let register = |number: &usize| {
        let text = system.text(&format!("sys/devices/system/cpu/cpu{number}/regs/identification/midr_el1"))?;
        let id = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
        Some((*number, Part { implementer: id >> 24 & 0xff, number: id >> 4 & 0xfff }))
    };
    let parts: BTreeMap<usize, Part> = threads.iter().filter_map(register).collect();
    if !parts.is_empty() || !system.text_start(CPUINFO, CPUINFO_BYTES).is_some_and(|text| text.contains("CPU part")) {
        return parts;
    }
    parts_of_cpuinfo(&system.text(CPUINFO).unwrap_or_default(), threads)
}

/// 32-bit systems report one part, after all processors.
fn parts_of_cpuinfo(text: &str, threads: &[usize]) -> BTreeMap<usize, Part> {
    let mut parts = BTreeMap::new();
    let (mut processor, mut implementer) = (None, None);
    let hexadecimal = |value: &str| u64::from_str_radix(value.strip_prefix("0x")?, 16).ok();
    for (field, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match field.trim() {
            "processor" => processor = value.parse::<usize>().ok(),
            "CPU implementer" => implementer = hexadecimal(value),
            "CPU part" => {
                if let (Some(implementer), Some(number)) = (implementer, hexadecimal(value)) {
                    parts.insert(processor, Part { implementer, number });
                }
            }
            _ => {}
        }
    }
    let only = if parts.len() == 1 { parts.values().next().copied() } else { None };
    let part = |number: &usize| Some((*number, parts.get(&Some(*number)).copied().or(only)?));
    threads.iter().filter_map(part).collect()
}
