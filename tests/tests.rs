//! The map of the tests: one program, one module per topic; names read as sentences.
//!
//! What holds for the code itself:
//! - `architecture`: imports go downwards, nothing is too long
//! - `contributing`: the worked examples of docs/extending.md compile and run
//! - `docs`: commands, snippets and links of README and guide hold; generated parts are up to date; examples run
//! - `recipes`: recipes for Spack, EasyBuild and Apptainer are of this version and can be parsed
//! - `licences`: what all dependencies permit
//! - `cli`: every command has help, examples and a manual page
//!
//! From the ground up:
//! - `units`: quantities as users write them and as they are printed
//! - `text_table`: aligned columns, and texts broken to fit a terminal
//! - `numerics`: power law, mixing, order statistics
//! - `machine`: machine cards are read back as written; errors show the place
//! - `models`: models give the numbers that their papers print, and the papers' disagreements are shown
//! - `lru`: hit ratios of caches against simulated ones
//! - `gf2`: the streams of RandomAccess
//! - `hardware`: machines and control groups read from recorded files, ranks put on them
//! - `arena`: a rank's memory and its pages
//! - `threads`: the embedded transport keeps the contract of `Comm` and its parts
//! - `comm`: and the part of it that moves many words, and words into others' memory; what loom checks of its synchronisation
//!   is in `loom`, a package of its own
//! - `mpi`: so does the MPI transport, and the kernels and workers on it
//! - `apex_map`: the kernel, its verification and its refusals
//! - `writes`: Apex-Map that writes, that follows its data, and beside busy neighbours
//! - `node`: strides, STREAM's four, latency under writes, the line between two cores
//! - `random_access`: every algorithm against `sequential`, verification, ownership, routes, refusals
//! - `random_access_mpi`: every algorithm on both MPIs
//! - `random_access_shared`: one table under the threads of one rank, its errors and its mapping modes
//! - `message_rate`: every pattern, its destinations, and its verification against faults
//! - `stamping`: the cost of stamps and checks is subtracted
//! - `message_rate_mpi`: every pattern on both MPIs
//! - `calibrate_network`: the costs of messages, and that each of these kernels finds faults
//! - `calibrate`: the costs on a core, and the machine card of all numbers
//! - `latency`: pointer chases, runs in parts, regions inside the plateaus of levels, ranges of few launches
//! - `residence`: the rate at which others displace lines of the last cache, from made-up latencies after waits
//! - `staircase`: sizes of caches and the reach of TLBs from made-up latencies, the table of classic numbers and its figures
//! - `bounds`: known values, what is left out, and that nothing exceeds what this machine measured of itself
//! - `worker`: a job in, lines out
//! - `identity`: what makes samples stale
//! - `disturbance`: what is watched while a kernel's clock runs, verdicts about it, rates corrected by the canary
//! - `fuzz`: what readers make of any bytes: every case that fuzzing found, and seeds for more
//! - `store`: journals, Parquet, cells
//! - `damage`: results whose files are damaged, copied or of other hands: what is readable is read, and the rest is told
//! - `samples`: what varies, groups, mixtures, the registry of columns
//! - `cube`: medians as arrays over named axes, their slices, ratios and slopes, and the map of elasticities
//! - `spec`: sweep files, their expansion and their errors
//! - `quickstart`: on machines of several kinds
//! - `driver`: launches, retries, budgets, resuming
//! - `forecast`: how long the rest of a sweep takes, on recorded and simulated sweeps
//! - `processes`: launches as real processes, their limits and their ends
//! - `launch`: launchers' command lines
//! - `command_lines`: command lines of all launchers stay as they are recorded
//! - `causes`: what launchers print when launches fail, recorded, and what it means
//! - `batch`: scripts of batch systems as text, and what their answers mean
//! - `batch_systems`: OpenPBS, Torque, LSF and Flux, whose programs are scripts; driver and jobs are real
//! - `submit`: sweeps as jobs, whose cluster is a script: however jobs end
//! - `slurm`: a real Slurm, started by the test, and jobs as users submit them
//! - `network`: hosts joined by a switch with a chosen delay and rate, and both MPIs across them
//! - `launchers`: launchers that misbehave, and that nothing of them stays behind
//! - `protocol`: lines cut out of any bytes, and what a launch may say when
//! - `figure`: surfaces, contours, curves
//! - `ratio`: Apex-Map against ping-pong, Figure 2
//! - `terminal`: what reaches a terminal is printable and bounded; that it cannot be written ends no measurement
//! - `crew`: the threads that fill and verify memory, and what is told meanwhile
//! - `limits`: sizes that no machine has are refused
//! - `memory`: what launches take of memory is what plans say; a kill for lack of memory
//! - `new_file`: files are written whole, and no link is followed
//! - `in_order`: work on all processors, its results in order
//! - `crash`: a panic that escapes is one message
//! - `faults`: calls that fail, kills, signals, full disks and drivers that meet lose nothing
//! - `resume`: whole runs, killed, resumed, failed, inspected
//! - `baseline`: the curves that a model has to beat, and what is said of one that does not
//! - `fit`: known values, recovered truths, intervals that cover, designs refused
//! - `subsample`: fits to an evenly spread part of a large design, judged on all of it
//! - `intervals`: intervals cover, over launches and within one; samples that are alike
//! - `query`: medians by groups
//! - `export`: CSV, JSON lines and Extra-P's input, read back by other programs
//! - `manual`: launches run by their scripts elsewhere; outputs cut, damaged, foreign, imported twice
//! - `notebooks`: run to the end; no outputs are committed
//! - `breaks`: eager limits and cache sizes found from data, LogGP's numbers
//! - `predicted`: pictures of predictions without a result, compact models in reports, what a card lacks
//! - `explain`: models against stores and papers; the commands models, predict, fit, validate
//! - `page`: HTML pages in a real browser: the viewer, downloads, hostile names; figures for papers, legends
//! - `compare`: machines against each other, and regressions between them
//! - `compare_check`: what a check of regressions can find, and says; folders and names of comparisons; published machines
//! - `compare_sides`: sides of one run in pairs, of different size by role, dropped points, decisions of many points
//! - `compare_terms`: why one machine is faster than another, term by term
//! - `control`: differences found between launches of one thing
//! - `placement`: warnings about ranks and memory that are not where they should be
//! - `report`: the report in a real browser, and `apexmap plot`
//!
//! `browser` opens HTML pages and queries them; `common` holds what several of them need, `faulty` a faulty transport,
//! `made_up` machines that behave as a model says,
//! `mock` a scripted launcher for the driver, `mpi_worker` MPI programs and their launches, `needs` what is installed here.

#[macro_use]
mod needs;

mod apex_map;
mod architecture;
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
mod cli;
mod comm;
mod command_lines;
mod common;
mod compare;
mod compare_check;
mod compare_sides;
mod compare_terms;
mod condition;
mod contributing;
mod control;
mod crash;
mod crew;
mod cube;
mod damage;
mod disturbance;
mod docs;
mod driver;
mod explain;
mod export;
mod faults;
mod faulty;
mod figure;
mod fit;
mod forecast;
mod fuzz;
mod gf2;
mod hardware;
mod identity;
mod in_order;
mod intervals;
mod latency;
mod launch;
mod launchers;
mod licences;
mod limits;
mod lru;
mod machine;
mod made_up;
mod manual;
mod memory;
mod message_rate;
mod message_rate_mpi;
mod mock;
mod models;
mod mpi;
mod mpi_worker;
mod network;
mod new_file;
mod node;
mod notebooks;
mod numerics;
mod page;
mod placement;
mod predicted;
mod processes;
mod protocol;
mod query;
mod quickstart;
mod random_access;
mod random_access_mpi;
mod random_access_shared;
mod ratio;
mod recipes;
mod report;
mod residence;
mod resume;
mod samples;
mod slurm;
mod spec;
mod staircase;
mod stamping;
mod store;
mod submit;
mod subsample;
mod terminal;
mod text_table;
mod threads;
mod units;
mod worker;
mod writes;
