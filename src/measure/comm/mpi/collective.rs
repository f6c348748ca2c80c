use super::MpiComm;
use crate::comm::Comm;
use mpi::ffi;
use mpi::traits::AsRaw;
use std::mem::MaybeUninit;
use std::os::raw::c_int;

/// One integer per rank, kept between exchanges to save allocations.
#[derive(Default)]
pub(super) struct ExchangeLists {
    sends: Vec<c_int>,
    send_starts: Vec<c_int>,
    receives: Vec<c_int>,
    receive_starts: Vec<c_int>,
}

pub(super) fn all_to_all_v(comm: &MpiComm, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
    assert_eq!(counts.len(), comm.size, "a count for every rank");
    assert!(counts.iter().sum::<usize>() <= send.len(), "the counts exceed the words to send");
    let lists = &mut *comm.lists.borrow_mut();
    let ExchangeLists { sends, send_starts, receives, receive_starts } = lists;
    sends.clear();
    sends.extend(counts.iter().map(|&count| c_int::try_from(count).expect("MPI cannot send 2^31 words at once")));
    receives.resize(comm.size, 0);
    // SAFETY: both arrays hold one integer per rank, and live until the exchange has completed.
    wait(comm, |request| unsafe {
        let (send_counts, receive_counts, int) =
            (sends.as_ptr().cast(), receives.as_mut_ptr().cast(), ffi::RSMPI_INT32_T);
        ffi::MPI_Ialltoall(send_counts, 1, int, receive_counts, 1, int, comm.world.as_raw(), request);
    });
    // In Open MPI 4.1, a rank that neither sends nor receives in a non-blocking collective leaves the collective's tag to the
    // next one, which then never completes. Such a rank therefore sends one word to itself.
    let is_empty = sends.iter().chain(&*receives).all(|&count| count == 0);
    if is_empty {
        (sends[comm.rank], receives[comm.rank]) = (1, 1);
    }
    let send = if is_empty { &[0] } else { send };
    compute_starts(sends, send_starts);
    let words = compute_starts(receives, receive_starts);
    receive.clear();
    receive.resize(words, 0);
    // SAFETY: counts and starts stay within `send` (checked above) and `receive` (sized above), which both live until the
    // exchange has completed.
    wait(comm, |request| unsafe {
        ffi::MPI_Ialltoallv(
            send.as_ptr().cast(),
            sends.as_ptr(),
            send_starts.as_ptr(),
            ffi::RSMPI_UINT64_T,
            receive.as_mut_ptr().cast(),
            receives.as_ptr(),
            receive_starts.as_ptr(),
            ffi::RSMPI_UINT64_T,
            comm.world.as_raw(),
            request,
        );
    });
    if is_empty {
        receive.clear();
    }
}

/// Returns the end of the last part.
fn compute_starts(counts: &[c_int], starts: &mut Vec<c_int>) -> usize {
    let mut end = 0usize;
    starts.clear();
    starts.extend(counts.iter().map(|&count| {
        let start = c_int::try_from(end).expect("MPI cannot receive 2^31 words at once");
        end += count as usize;
        start
    }));
    end
}

/// Polls until the operation is complete. Ranks that share a hardware thread thus yield it to each other.
fn wait(comm: &MpiComm, start: impl FnOnce(&mut ffi::MPI_Request)) {
    let (mut request, mut done) = (MaybeUninit::uninit(), 0);
    // SAFETY: a constant of the library; `start` overwrites it.
    let request = request.write(unsafe { ffi::RSMPI_REQUEST_NULL });
    start(request);
    loop {
        // SAFETY: `start` has made the request, or left it null, which tests as complete.
        unsafe { ffi::MPI_Test(request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
        if done != 0 {
            return;
        }
        comm.relax();
    }
}
