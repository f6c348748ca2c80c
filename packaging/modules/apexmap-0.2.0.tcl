#%Module
# Module file for Environment Modules. Copy it to MODULEPATH/apexmap/0.2.0 and set the folder below.
# The site file names the workers, so users need no --worker. docs/clusters.md lists its keys; `apexmap site --check` tests it.
set version 0.2.0
set prefix /opt/apexmap/$version

proc ModulesHelp { } {
    puts stderr "Measures how fast the memory and the network of a machine deliver data, and draws maps over locality."
}
module-whatis "apexmap $version: memory and network performance over locality"

prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
setenv APEXMAP_CONFIG $prefix/etc/site.toml
