//! All tests in one program, with one module per topic. Names of tests are sentences.
//!
//! Code and documentation:
//! - `architecture`: imports go downwards, no file or function is too long
//! - `contributing`: the examples of docs/appendix/extending.md compile and run
//! - `docs`: commands, snippets and links of README and guide work; generated parts are up to date; examples run
//! - `doc_pictures`: the pictures of README and guide show what the program draws today
//! - `published`: numbers and outputs of README and guide follow from samples in tests/recorded
//! - `recipes`: recipes for Spack, EasyBuild, Apptainer and Python have this version and are accepted by their tools
//! - `harnesses`: ReFrame reports the numbers of `apexmap query`
//! - `licences`: licences of all dependencies
//! - `cli`: every command has help, examples and a manual page
//! - `mistakes`: what users type wrongly is answered with the text to type; examples can be pasted
//!
//! The program, in the order of its layers:
//! - `units`: quantities as users write them and as they are printed
//! - `text_table`: aligned columns, and text that is wrapped to fit a terminal
//! - `numerics`: power law, mixing, order statistics
//! - `machine`: machine cards are read back as written; errors show the place
//! - `models`: models reproduce the numbers of their papers, and contradictions within the papers are shown
//! - `domains`: predictions outside of the domains of their numbers are labelled or refused
//! - `lru`: hit ratios of caches against simulated ones
//! - `gf2`: the random streams of RandomAccess
//! - `hardware`: machines and control groups from recorded files, and the placement of ranks on them
//! - `hardware_trees`: machines of many kinds from folders, their NUMA nodes in sweeps, more than 1,024 hardware threads
//! - `arena`: a rank's memory and its pages
//! - `threads`: the embedded transport keeps the contract of `Comm` and its parts
//! - `comm`: the part of `Comm` that moves many words, and words into others' memory; the separate package `loom`
//!   checks its synchronisation
//! - `mpi`: the MPI transport keeps the contract, and the kernels and workers on it
//! - `apex_map`: the kernel, its verification and its refusals
//! - `writes`: Apex-Map with writes, with chains, and with busy neighbours
//! - `command`: any program as a kernel: sweep files, values, failures, results, consent
//! - `ab`: paired comparisons of commands, settings and workers: intervals, false alarms, drift, disturbed blocks, results, exit codes
//! - `node`: strides, STREAM's four kernels, latency under writes, transfers of a line between two cores
//! - `random_access`: every algorithm against `sequential`, verification, ownership, routes, refusals
//! - `random_access_mpi`: every algorithm on both MPIs
//! - `random_access_shared`: one table under the threads of one rank, its errors and its mapping modes
//! - `message_rate`: every pattern, its destinations, and its verification against faults
//! - `simgrid`: simulated ranks against SimGrid's SMPI; the tested envelope
//! - `loggp`: simulated ranks against an interpreter of the LogGP model
//! - `simulated`: ranks in virtual time: contract, deadlocks, panics
//! - `simulated_forms`: times of patterns of messages against closed forms
//! - `simulated_properties`: order of events, routes, reservations of links, wrong machines, memory and stacks
//! - `simulated_kernels`: every kernel on simulated ranks: verified, identical in every run, charged as the closed forms say
//! - `simulated_room`: mailboxes with limited room: waiting senders, deadlocks, refusals
//! - `simulated_runs`: sweeps on simulated ranks from the command line to the page
//! - `simulated_intervals`: cards drawn from the intervals of a card, and the intervals of simulated rates
//! - `simulated_nic`: the interface of a node against the equations of the NIC message-rate paper
//! - `simulated_papers`: the sweeps, cards, values and page of `make papers`
//! - `simulated_fit`: the joint fit of Red Storm's card, recomputed
//! - `simulated_cards`: machines of simulated ranks from cards: known values, refusals, places of nodes
//! - `stamping`: the cost of stamps and checks is subtracted
//! - `message_rate_mpi`: every pattern on both MPIs
//! - `calibrate_network`: the costs of messages, and the faults that each of these kernels detects
//! - `calibrate`: the costs on a core, and the machine card of all numbers
//! - `quick`: the numbers of `apexmap try`, their table, and their card as JSON for other commands
//! - `latency`: pointer chases, runs in parts, regions inside the plateaus of levels, ranges from few launches
//! - `residence`: the rate at which others displace lines of the last cache, from simulated latencies after waits
//! - `staircase`: sizes of caches and the reach of TLBs from simulated latencies, the table of classic numbers and its
//!   figures
//! - `bounds`: known values, missing numbers, and that nothing exceeds the bounds of this machine's card
//! - `worker`: reads a job, writes lines
//! - `other_processors`: the worker for 64-bit ARM under qemu
//! - `identity`: changes that make samples stale
//! - `disturbance`: what is recorded while a kernel's clock runs, what it costs, verdicts
//! - `gpu`: kernels on a device of OpenCL, against the host's; machines without a device
//! - `gpu_faults`: devices that fail, several devices, and what a compiler for GPUs makes of the kernels
//! - `fuzz`: readers on arbitrary bytes: every case that fuzzing found, and seeds for more
//! - `store`: journals, Parquet, cells
//! - `damage`: results with files that are damaged, copied or written by others: readable data are read, the rest is
//!   reported
//! - `node_types`: samples of unlike nodes have no common median, figure, fit, card or comparison
//! - `samples`: varying columns, groups, mixtures, the registry of columns
//! - `cube`: medians as arrays over named axes, their slices, ratios and slopes, and the map of elasticities
//! - `archive`: results as one file with checksums
//! - `spec`: sweep files, their expansion and their errors
//! - `answers`: the answers that sweeps declare: values, steps, units, intervals
//! - `quickstart`: the quickstart on machines of several kinds
//! - `driver`: launches, retries, budgets, resuming
//! - `forecast`: the time that the rest of a sweep takes, for recorded and simulated sweeps
//! - `frames`: samples as DataFrames of polars, with the feature `polars`
//! - `processes`: launches as real processes, their limits and their ends
//! - `launch`: command lines of launchers
//! - `command_lines`: command lines of all launchers stay as they are recorded
//! - `causes`: recorded messages of launchers when launches fail, and their causes
//! - `mpi_check`: the MPI of workers, launchers and modules is compared before jobs are queued
//! - `batch`: scripts of batch systems as text, and the ids in the systems' answers
//! - `batch_systems`: OpenPBS, Torque, LSF and Flux, with scripts as their programs; driver and jobs are real
//! - `submit`: sweeps as jobs that are submitted once, and measure at the same time
//! - `each_node`: sweeps that each node runs alone: the nodes, their jobs, and the slow ones
//! - `site`: site files: origins of settings, their effect on jobs and launches, and their test
//! - `slurm`: a real Slurm, started by the test, with jobs as users submit them
//! - `network`: hosts joined by a switch with a chosen delay and rate, and both MPIs across them
//! - `launchers`: launchers that misbehave, and that no process of theirs stays behind
//! - `protocol`: lines cut from arbitrary bytes, and the order of a launch's events
//! - `figure`: surfaces, contours, curves
//! - `pictures`: PDF files and slides, colours of many curves, first views of surfaces
//! - `codes`: places of known codes, against exact traces; sites, against the demonstration; files of own codes; marks and ratios
//! - `locate`: stack distances, kinds and places of programs, text traces, the first screen
//! - `locate_tracer`: programs under the valgrind tool: unchanged behaviour, counters with known values, sampling, refusals
//! - `locate_runs`: words, sets and pages of programs, against addresses and cachegrind
//! - `locate_verdict`: verdicts, gains and costs with known values; programs that compute and that wait for memory
//! - `locate_kinds`: kinds of loops with known answers in C, C++, Fortran and Rust, at several levels of optimisation
//! - `explorer`: the panel of all cells: its data, its modules under node, and the panel in a browser with mouse and keyboard
//! - `ratio`: Apex-Map against ping-pong, Figure 2
//! - `terminal`: text for a terminal is printable and bounded; a terminal that fails ends no measurement
//! - `screens`: commands on terminals of 80 columns: lines fit, sizes have units, words are plain
//! - `live`: the map of a sweep on real terminals: while it is measured, afterwards, and from `apexmap show`
//! - `crew`: the threads that fill and verify memory, and their progress reports
//! - `limits`: sizes that no machine has are refused
//! - `memory`: launches use the memory that plans predict; kills for too much memory
//! - `new_file`: files are written completely, and no link is followed
//! - `locks`: one program writes to a result, also on file systems without locks
//! - `parallel`: work on all processors, with results in order
//! - `crash`: a panic that escapes gives one message
//! - `faults`: failing calls, kills, signals, full disks and concurrent drivers lose nothing
//! - `resume`: complete runs: killed, resumed, failed, inspected
//! - `baseline`: the interpolation that a model has to beat, and the sentences about a model that does not
//! - `fit`: known values, recovered parameters, coverage of intervals, refused designs
//! - `formula`: models that users write: known values, units, errors with places, files
//! - `subsample`: fits to an evenly spread part of a large design, judged on all of it
//! - `intervals`: coverage of intervals, over launches and within one; correlated samples
//! - `remarks`: coarse clocks, trends within launches, two modes, refused huge pages
//! - `condition`: conditions of samples: parsing, values, errors with places
//! - `query`: medians by groups
//! - `export`: CSV and JSON lines, read back by other programs
//! - `import`: outputs of HPCC, OSU, IMB, STREAM, BabelStream and Intel MLC as results; files of other programs are named
//! - `import_runs`: files with several runs, labels and encodings: the samples of each with its own header
//! - `facade`: the public library: traits of its types, points without a parameter
//! - `notebooks`: they run to the end; no outputs are committed
//! - `breaks`: eager limits and cache sizes found from data, LogGP's parameters
//! - `predictions`: figures of predictions without a result, compact models in reports, missing numbers of a card
//! - `explain`: models against stores and papers; the commands models, predict, fit, validate
//! - `page`: HTML pages in a real browser: the viewer, downloads, hostile names; figures for papers, legends
//! - `compare`: machines against each other, and regressions between them
//! - `compare_check`: what a check for regressions can detect; folders and names of comparisons; published machines
//! - `compare_exact`: simulations and predictions without noise
//! - `compare_sides`: sides of one run in pairs, of different size by role, dropped points, decisions about many points
//! - `compare_terms`: why one machine is faster than another, term by term
//! - `placement`: warnings about ranks and memory in the wrong place
//! - `first_screen`: first screens of reports; reports drawn again from the result that they hold
//! - `report`: the report in a real browser, and `apexmap plot`
//!
//! Helpers: `browser` opens and queries HTML pages; `cdp` drives them by mouse and keyboard; `common` has shared functions; `faulty_transport` loses and changes
//! messages; `mock` is a scripted launcher for the driver; `mpi_worker` builds and launches MPI programs; `needs` checks
//! for installed software; `synthetic_machines` makes results of machines that follow a model.

#[macro_use]
mod needs;

mod ab;
mod answers;
mod apex_map;
mod architecture;
mod archive;
mod arena;
mod baseline;
mod batch;
mod batch_systems;
mod bounds;
mod breaks;
mod browser;
mod calibrate;
mod calibrate_network;
mod causes;
mod cdp;
mod cli;
mod codes;
mod combinations;
mod comm;
mod command;
mod command_lines;
mod common;
mod compare;
mod compare_check;
mod compare_exact;
mod compare_reservations;
mod compare_sides;
mod compare_terms;
mod condition;
mod contributing;
mod crash;
mod crew;
mod cube;
mod damage;
mod disturbance;
mod doc_pictures;
mod docs;
mod domains;
mod driver;
mod each_node;
mod ends;
mod explain;
mod explorer;
mod export;
mod facade;
mod faults;
mod faulty_transport;
mod figure;
mod first_screen;
mod fit;
mod forecast;
mod formula;
#[cfg(feature = "polars")]
mod frames;
mod fuzz;
mod gf2;
mod gpu;
mod gpu_faults;
mod hardware;
mod hardware_trees;
mod harnesses;
mod identity;
mod import;
mod import_runs;
mod intervals;
mod latency;
mod launch;
mod launchers;
mod licences;
mod limits;
mod live;
mod locate;
mod locate_kinds;
mod locate_runs;
mod locate_tracer;
mod locate_verdict;
mod locks;
mod loggp;
mod lru;
mod machine;
mod memory;
mod memory_sizes;
mod message_rate;
mod message_rate_mpi;
mod mistakes;
mod mock;
mod models;
mod mpi;
mod mpi_check;
mod mpi_worker;
mod network;
mod new_file;
mod node;
mod node_types;
mod notebooks;
mod numerics;
mod other_processors;
mod page;
mod parallel;
mod pictures;
mod placement;
mod predictions;
mod processes;
mod protocol;
mod published;
mod query;
mod quick;
mod quickstart;
mod random_access;
mod random_access_mpi;
mod random_access_shared;
mod ratio;
mod recipes;
mod remarks;
mod report;
mod residence;
mod resume;
mod samples;
mod screens;
mod simgrid;
mod simulated;
mod simulated_cards;
mod simulated_fit;
mod simulated_forms;
mod simulated_intervals;
mod simulated_kernels;
mod simulated_nic;
mod simulated_papers;
mod simulated_properties;
mod simulated_room;
mod simulated_runs;
mod site;
mod slurm;
mod spec;
mod staircase;
mod stamping;
mod store;
mod submit;
mod subsample;
mod synthetic_machines;
mod terminal;
mod tested_errors;
mod text_table;
mod threads;
mod units;
mod worker;
mod writes;
