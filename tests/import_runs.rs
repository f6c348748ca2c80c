//! Tests of imports of files with several runs: each has its own header, and runs that differ in a parameter stay apart.

use super::common::Scratch;
use apexmap_results::disk::Folder;
use apexmap_results::import;
use apexmap_results::samples::Samples;
use std::collections::BTreeMap;
use std::fs;

/// An output of STREAM with this rate of triad.
fn stream(header: &str, rate: f64, end: &str) -> String {
    let row = |name: &str, factor: f64| format!("{name}:  {:.1}  0.0168  0.0160  0.0192\n", rate * factor);
    let rows = row("Copy", 0.9) + &row("Scale", 0.8) + &row("Add", 1.0) + &row("Triad", 1.0);
    format!(
        "-----\nSTREAM version $Revision: 5.10 $\n-----\n{header}\nFunction    Best Rate MB/s  Avg time  Min time  Max time\n{rows}-----\n{end}\n-----\n"
    )
}

const VALID: &str = "Solution Validates: avg error less than 1.000000e-13 on all three arrays";

fn threads(count: u32, words: u32) -> String {
    format!(
        "This system uses 8 bytes per array element.\nArray size = {words} (elements), Offset = 0 (elements)\n\
         Number of Threads requested = {count}\nNumber of Threads counted = {count}"
    )
}

fn osu(settings: &str, rate: f64) -> String {
    format!(
        "# OSU MPI_Put Bandwidth Test v7.4\n{settings}# Size      Bandwidth (MB/s)\n8   {rate:.2}\n4096   {:.2}\n",
        100.0 * rate
    )
}

fn hpcc(rate: f64, threads: u32) -> String {
    format!(
        "#####\nThis is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012\nCurrent time ({}) is X\nHostname: 'n7'\n\
         Begin of StarSTREAM section.\nFunction      Rate (MB/s)   Avg time     Min time     Max time\n\
         Triad:   1.0  1.0  1.0  1.0\nEnd of StarSTREAM section.\n\
         Begin of Summary section.\nVersionMajor=1\nCommWorldProcs=4\nMPIRandomAccess_N=1024\nMPIRandomAccess_GUPs={rate}\n\
         MPIRandomAccess_Algorithm=0\nHPL_Tflops={rate}\nHPL_N={threads}000\nStarSTREAM_Triad=6.0\nSingleSTREAM_Triad=12.0\n\
         STREAM_VectorSize=1000\nSTREAM_Threads={threads}\nSuccess=1\nEnd of Summary section.\n#####\nEnd of HPC Challenge tests.\n",
        1.7e9 + rate
    )
}

fn imb(processes: u32, time: f64) -> String {
    format!(
        "#-----\n#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n#-----\n# Date                  : Mon Jun  3 10:00:00 2024\n\
         # MPI_Datatype                   :   MPI_BYTE\n#\n# Benchmarking PingPong\n# #processes = 2\n#-----\n\
         \x20      #bytes #repetitions      t[usec]   Mbytes/sec\n            0         1000         {time:.2}         0.00\n\
         \x20        4096         1000         4.00      1024.00\n\n# Benchmarking Allreduce\n# #processes = {processes}\n#-----\n\
         \x20      #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n            8         1000         1.00         3.00         2.00\n\
         \n\n# All processes entering MPI_Finalize\n\n"
    )
}

fn babel(header: &str, rate: f64) -> String {
    format!(
        "BabelStream\nVersion: 5.0\n{header}Running kernels 100 times\nPrecision: double\nArray size: 268.4 MB (=0.3 GB)\n\
         Function    MBytes/sec  Min (sec)   Max         Average\nCopy        {rate:.3}  0.00238     0.00250     0.00240\n\
         Mul         {rate:.3}  0.00238     0.00250     0.00240\nAdd         {rate:.3}  0.00238     0.00250     0.00240\n\
         Triad       {rate:.3}  0.00238     0.00250     0.00240\nDot         {rate:.3}  0.00238     0.00250     0.00240\n"
    )
}

/// Imports texts as files. Returns the samples, and the notes together.
fn import_texts(texts: &[&[u8]]) -> Result<(Samples, String), String> {
    let scratch = Scratch::new();
    let file = |(index, text): (usize, &&[u8])| {
        let path = scratch.join(format!("output{index}.txt"));
        fs::write(&path, text).expect("written");
        path
    };
    let files: Vec<_> = texts.iter().enumerate().map(file).collect();
    let folder = scratch.join("imported");
    let manifest = import::write(&files, &folder, None, None).map_err(|error| error.message)?;
    let samples = Folder::open(&folder).and_then(|folder| folder.table()).expect("samples").into();
    Ok((samples, manifest.imported.expect("an import").notes.join(" ")))
}

fn import_text(text: &str) -> (Samples, String) {
    import_texts(&[text.as_bytes()]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn numbers(samples: &Samples, condition: &str, column: &str) -> Vec<f64> {
    samples.choose(Some(condition)).unwrap_or_else(|error| panic!("{condition}: {error}")).numbers(column)
}

/// The samples with their numbers and how often each occurs, without the names of launches.
fn contents(samples: &Samples) -> BTreeMap<String, usize> {
    let table = samples.table();
    let is_content = |name: &&String| !["launch", "block", "repetition"].contains(&name.as_str());
    let names: Vec<&String> = table.names().iter().filter(is_content).collect();
    let mut counts = BTreeMap::new();
    for row in 0..table.rows {
        let mut cells: Vec<String> = Vec::new();
        for name in &names {
            let (word, number) = (table.word(name, row), table.number(name, row));
            cells.extend((!word.is_empty() || number.is_finite()).then(|| format!("{name}={word}{number}")));
        }
        cells.sort();
        *counts.entry(cells.join(" ")).or_default() += 1;
    }
    counts
}

#[test]
fn two_outputs_in_one_file_have_the_samples_of_both() {
    let flush = "# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n";
    let outputs = [
        stream(&threads(1, 1000), 9000.0, VALID),
        stream(&threads(4, 1000), 30000.0, VALID),
        stream(&threads(4, 2000), 20000.0, "Failed Validation on array a[], AvgRelAbsErr > epsilon"),
        osu(flush, 10.0),
        osu("", 11.0),
        hpcc(0.5, 1),
        hpcc(0.25, 8),
        imb(4, 0.9),
        imb(8, 0.8),
        babel("Implementation: OpenMP\n", 200_000.0),
        babel("Implementation: CUDA\nUsing CUDA device Example 9000\n", 900_000.0),
        include_str!("recorded/imports/mlc.txt").to_owned(),
        include_str!("recorded/imports/hpcc-failed.txt").to_owned(),
        include_str!("recorded/imports/osu-collectives.txt").to_owned(),
    ];
    for (index, first) in outputs.iter().enumerate() {
        for other in &outputs[index + 1..] {
            let (apart, _) = import_texts(&[first.as_bytes(), other.as_bytes()]).expect("two files");
            let (together, notes) = import_text(&format!("{first}{other}"));
            assert_eq!(contents(&together), contents(&apart), "{notes}\n{first}{other}");
        }
        let (twice, _) = import_text(&format!("{first}{first}"));
        let (once, _) = import_text(first);
        let doubled: BTreeMap<_, _> = contents(&once).into_iter().map(|(row, count)| (row, 2 * count)).collect();
        assert_eq!(contents(&twice), doubled, "{first}");
    }
}

#[test]
fn runs_of_stream_keep_their_threads_and_sizes() {
    let fortran = "Number of Threads =            4\nArray size =   3000";
    let mpi = "Total Aggregate Array size = 8000 (elements)\nData is distributed across 4 MPI ranks\n\
               Number of Threads requested for each MPI rank = 3\nNumber of Threads counted for rank 0 = 3";
    let text = [(threads(1, 1000), 10.0), (threads(2, 1000), 20.0), (fortran.into(), 40.0), (mpi.into(), 120.0)]
        .map(|(header, rate)| stream(&header, rate, VALID))
        .concat();
    let (samples, _) = import_text(&text);
    let triad = |ranks: u32| format!("access == \"triad\" && P == {ranks}");
    for (ranks, rate) in [(1, 10e6), (2, 20e6), (4, 40e6), (12, 120e6)] {
        assert_eq!(numbers(&samples, &triad(ranks), "bytes_per_second"), [rate], "{ranks}");
    }
    assert_eq!(numbers(&samples, &triad(12), "region_bytes"), [3.0 * 8.0 * 8000.0 / 12.0]);
    assert_eq!(samples.words("launch").len(), 4, "each run is a launch");
    let sizes = [1000, 2000].map(|words| stream(&threads(2, words), 10.0, VALID)).concat();
    let (samples, _) = import_text(&sizes);
    assert_eq!(samples.choose(Some("access == \"triad\"")).expect("samples").words("key").len(), 2);
}

#[test]
fn a_table_without_a_version_line_keeps_the_settings_above_it() {
    let table = |count: u32, rate: f64, end: &str| {
        let whole = stream(&threads(count, 1000), rate, end);
        whole.lines().filter(|line| !line.contains("version")).map(|line| format!("{line}\n")).collect::<String>()
    };
    let failed = "Failed Validation on array a[], AvgRelAbsErr > epsilon";
    let text = table(2, 20.0, VALID) + &table(4, 40.0, failed) + &table(8, 80.0, "") + &table(16, 160.0, VALID);
    for text in [text.clone(), stream(&threads(1, 1000), 10.0, VALID) + &text] {
        let (samples, notes) = import_text(&text);
        for (ranks, rate) in [(2, 20e6), (8, 80e6), (16, 160e6)] {
            let triad = format!("access == \"triad\" && P == {ranks} && status == \"ok\"");
            assert_eq!(numbers(&samples, &triad, "bytes_per_second"), [rate], "{notes}");
        }
        assert_eq!(numbers(&samples, "P == 4 && status == \"wrong\"", "seconds").len(), 4, "validation failed");
    }
    let without_head = |text: &str| text.replacen("BabelStream\nVersion: 5.0\n", "", 1);
    let babel = |threads: u32| {
        without_head(&babel(
            &format!("Implementation: OpenMP\nNumber of threads: {threads}\n"),
            1000.0 * f64::from(threads),
        ))
    };
    let (samples, _) = import_text(&(babel(2) + &babel(4)));
    for ranks in [2, 4] {
        let dot = format!("kernel == \"babelstream.dot\" && P == {ranks}");
        assert_eq!(numbers(&samples, &dot, "bytes_per_second"), [1e9 * f64::from(ranks)]);
    }
}

#[test]
fn threads_of_hpcc_count_as_processes_and_each_run_is_a_sample() {
    let cut = hpcc(0.9, 1).split("StarSTREAM_Triad").next().expect("a part").to_owned();
    let (samples, notes) = import_text(&(hpcc(0.5, 8) + &hpcc(0.25, 8) + &cut));
    assert_eq!(numbers(&samples, "kernel == \"random_access.base\"", "operations_per_second"), [0.5e9, 0.25e9]);
    assert_eq!(numbers(&samples, "kernel == \"calibrate.stream\" && P == 32", "bytes_per_second"), [24e9, 24e9]);
    assert_eq!(numbers(&samples, "kernel == \"calibrate.stream\" && P == 8", "bytes_per_second_per_rank"), [1.5e9; 2]);
    assert_eq!(numbers(&samples, "kernel == \"hpcc.HPL\"", "problem_size"), [8000.0; 2]);
    assert!(notes.contains("Run 3 of 3") && notes.contains("cut off"), "{notes}");
}

#[test]
fn a_run_that_failed_or_was_cut_leaves_the_others() {
    let failed = "Failed Validation on array b[], AvgRelAbsErr > epsilon";
    let cut = stream(&threads(2, 1000), 50.0, "").split("Add:").next().expect("a part").to_owned();
    let text = stream(&threads(2, 1000), 10.0, VALID) + &stream(&threads(2, 1000), 90.0, failed) + &cut;
    let (samples, notes) = import_text(&(text + &stream(&threads(2, 1000), 20.0, VALID)));
    let good = "access == \"triad\" && status == \"ok\"";
    assert_eq!(numbers(&samples, good, "bytes_per_second"), [10e6, 20e6]);
    assert!(notes.contains("Run 3 of 4") && notes.contains("failed validation"), "{notes}");
    // Fortran prints stars for a number that does not fit.
    let stars = stream("", 10.0, "").replace("8.0 ", "****** ");
    let (samples, notes) = import_text(&stars);
    assert_eq!(samples.words("access").len(), 3, "{stars}");
    assert!(notes.contains("******"), "{notes}");
}

#[test]
fn comments_of_osu_are_parameters() {
    let put = |settings: [&str; 2], rate: f64| {
        osu(&format!("# Window creation: {}\n# Synchronization: {}\n", settings[0], settings[1]), rate)
    };
    let text = put(["MPI_Win_create", "MPI_Win_fence"], 1.0)
        + &put(["MPI_Win_create", "MPI_Win_lock/unlock"], 2.0)
        + &put(["MPI_Win_allocate", "MPI_Win_fence"], 4.0);
    let (samples, _) = import_text(&text);
    let small = samples.choose(Some("message_bytes == 8")).expect("samples");
    assert_eq!(small.words("key").len(), 3);
    assert_eq!(numbers(&small, "synchronization == \"MPI_Win_fence\"", "bytes_per_second"), [1e6, 4e6]);
    assert_eq!(small.words("window_creation").len(), 2);
    let buffers =
        |buffers: &str, time: &str| format!("# OSU MPI Latency Test v7.1\n{buffers}# Size Latency (us)\n8 {time}\n");
    let text = buffers("# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n", "0.25")
        + &buffers("# Send Buffer on HOST (H) and Receive Buffer on DEVICE (D)\n", "0.95")
        + &buffers("", "0.5");
    let (samples, _) = import_text(&text);
    assert_eq!(samples.words("key").len(), 3);
    assert_eq!(numbers(&samples, "kernel == \"osu.device_ping_pong\"", "operation_seconds"), [0.95e-6]);
    let (init, _) = import_text("# OSU MPI Init Test v7.2\nnprocs: 8, min: 70 ms, max: 90 ms, avg: 80 ms\n");
    assert_eq!(numbers(&init, "kernel == \"osu.init\" && P == 8", "operation_seconds"), [0.08]);
    let other = import_texts(&[b"# OSU MPI Hello World Test v7.2\nThis is a test with 2 processes\n"]).unwrap_err();
    assert!(other.contains("This is a test with 2 processes"), "{other}");
}

#[test]
fn labels_of_launchers_encodings_and_ends_of_lines_make_no_difference() {
    let plain = stream(&threads(3, 1000), 10.0, VALID) + &osu("# Synchronization: MPI_Win_flush\n", 7.0) + &imb(2, 0.5);
    let (expected, _) = import_text(&plain);
    let labelled = |label: &str| plain.lines().map(|line| format!("{label}{line}\n")).collect::<String>();
    let words: Vec<u16> = plain.encode_utf16().collect();
    let wide = |bytes: fn(&u16) -> [u8; 2]| words.iter().flat_map(bytes).collect::<Vec<u8>>();
    let mut mixed = String::new();
    for line in plain.lines() {
        mixed += &format!(" 0: {line}\n 1: a warning of another rank\n");
    }
    let forms: [Vec<u8>; 13] = [
        plain.lines().map(|line| format!("\x1b[1;32m{line}\x1b[0m\n")).collect::<String>().into(),
        plain.replace(".0 ", ",0 ").replace("0.01", "0,01").into(),
        labelled("0: ").into(),
        labelled("[1,0]<stdout>: ").into(),
        labelled("[prterun-n1-99@1,0]<stdout>: ").into(),
        labelled("Sat Nov 28 10:00:00 2026[1,0]<stdout>:").into(),
        labelled("[0] ").into(),
        mixed.into(),
        plain.replace('\n', "\r\n").into(),
        plain.replace('\n', "\r").into(),
        format!("\u{feff}{plain}").into(),
        [vec![0xff, 0xfe], wide(|word| word.to_le_bytes())].concat(),
        [vec![0xfe, 0xff], wide(|word| word.to_be_bytes())].concat(),
    ];
    for (index, form) in forms.iter().chain([&wide(|word| word.to_le_bytes())]).enumerate() {
        let (samples, _) = import_texts(&[form]).unwrap_or_else(|error| panic!("form {index}: {error}"));
        assert_eq!(contents(&samples), contents(&expected), "form {index}");
    }
    let copies = import_texts(&[plain.as_bytes(), plain.as_bytes()]).unwrap_err();
    assert!(copies.contains("same contents"), "{copies}");
}

#[test]
fn streams_of_a_device_are_not_those_of_a_core() {
    let cuda = "STREAM Benchmark implementation in CUDA\n Device Selected 0: \"Example 9000\"\n Array size (double)=1000*8*8 (0 MB)\n\
                Function      Rate (MB/s)   Avg time     Min time     Max time\nCopy:  1000.0  0.1  0.1  0.1\nTriad: 2000.0  0.1  0.1  0.1\n";
    let (samples, _) =
        import_text(&(cuda.to_owned() + &babel("Implementation: HIP\nUsing HIP device Example 9001\n", 3000.0)));
    assert!(samples.with_kernel("calibrate.stream").is_empty());
    let triad =
        |device: u32| format!("kernel == \"gpu.stream\" && access == \"triad\" && device_name == \"Example {device}\"");
    assert_eq!(numbers(&samples, &triad(9000), "bytes_per_second"), [2e9]);
    assert_eq!(numbers(&samples, &triad(9001), "bytes_per_second"), [3e9]);
    let (samples, _) = import_text(&babel("Implementation: OpenMP\n", 200_000.0));
    let scale = "kernel == \"calibrate.stream\" && access == \"scale\"";
    assert_eq!(numbers(&samples, scale, "bytes_per_second"), [200e9]);
    assert_eq!(numbers(&samples, "kernel == \"babelstream.dot\"", "seconds"), [0.00238]);
    let csv = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n\
               Copy,100,1000,8,500.5,0.1,0.3,0.2\nTriad,100,1000,8,600.5,0.1,0.3,0.2\n";
    let (samples, _) = import_text(csv);
    assert_eq!(numbers(&samples, "access == \"triad\"", "bytes_per_second"), [600.5e6]);
}

#[test]
fn tables_of_imb_are_kernels_of_apexmap_or_its_own() {
    let (samples, _) = import_text(&imb(16, 0.75));
    let ping = |bytes: u32| format!("kernel == \"message_rate.ping_pong\" && P == 2 && message_bytes == {bytes}");
    assert_eq!(numbers(&samples, &ping(0), "operation_seconds"), [0.75e-6]);
    assert_eq!(numbers(&samples, &ping(4096), "bytes_per_second"), [1024e6]);
    assert_eq!(numbers(&samples, "kernel == \"imb.allreduce\" && P == 16", "operation_seconds_max"), [3e-6]);
    let old = imb(2, 0.75).replace("MPI Benchmarks 2021.7", "MPI Benchmark Suite V3.2");
    let (samples, _) = import_text(&old.replace("Intel(R)", "Intel (R)"));
    assert_eq!(numbers(&samples, &ping(4096), "bytes_per_second"), [1024.0 * 1048576.0], "MB of old versions");
}
