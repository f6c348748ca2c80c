/* A valgrind tool that records how each load and store of a program walks through memory.

   SPDX-License-Identifier: MIT
   Copyright (c) The apexmap developers

   This file is under the MIT licence (see LICENSE-MIT). It becomes a work under the GPL only together with valgrind. That happens on
   the user's machine, where apexmap compiles it with the user's valgrind; the result is never distributed.

   A *site* is a load or store instruction: an address, a size and a direction. VEX unrolls loops, so one instruction may be
   translated several times; all of its translations share the site. `Counters` in site.rs defines what is counted.
   Output is a sequence of messages through a pipe. Each has a header of two 32-bit words: kind and bytes of the payload. */
#include "pub_tool_basics.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

/* Of valgrind's core, stable since 2005: moves a descriptor to where programs can neither see nor close it. */
extern Int VG_(safe_fd)(Int old_fd);

enum { SCALES = 5, RECENT = 8, YOUNGEST = 8, SITE_BITS = 20, NUMBER_BITS = 42, LINE_BITS = 6, PAGE_BITS = 12 };
enum { LINE, PAGE, GRAINS };
enum { FULL = (1 << 13) - 8 };  /* words of a message, but for the last ones */
enum { POLL_OUT = 4, POLL_BROKEN = 8 | 16 | 32 }; /* Of poll(2); valgrind has only POLLIN. */

typedef struct {
    VgHashNode node; /* key: see `find_site` */
    UInt index, size;
    Addr code;
    Bool is_store, has_value, is_named; /* it loads integers; its name was sent */
    UChar keeps[GRAINS]; /* whether the line and the page of the last address are in the sample ... */
    UInt halvings;       /* ... after so many halvings */
    DiEpoch epoch;       /* when the code was translated: libraries come and go */
    Addr address;   /* of the last access */
    Long stride;    /* the last step other than 0 */
    ULong same_address, same_stride, same_line;
    ULong new_strides; /* accesses with another stride, the first access included */
    ULong kept_before; /* same_stride when the stride began */
    Long kept_stride;
    ULong runs, run_bytes;
    ULong value; /* the last that it loaded */
    ULong bases[SCALES], chained[SCALES];
    ULong pointed;
    ULong young[GRAINS][YOUNGEST]; /* accesses to the youngest lines and pages, by their place, times 2^level */
} Site;

enum { ACCESSES = 1, HALVE_LINES, HALVE_PAGES, SITE, END };
/* Words of ACCESSES: 2 bits, then 20 bits of the site and 42 of the line's or page's number. An old line, or a new one, is followed by
   a word: bit 63 and 42 bits are the line that it displaces among the youngest, bits 42 to 45 their number before. */
enum { OLD_LINE, YOUNG_LINE, OLD_PAGE, TIME };
enum { PROGRAM_ENDED, PROGRAM_REPLACED, ACCESSES_REACHED, SECONDS_REACHED };

/* The lines or pages of the sample. */
typedef struct {
    VgHashTable *known;
    Int limit;  /* of their number; 0 keeps all */
    UInt level; /* one of 2^level is kept */
    ULong young[YOUNGEST]; /* the youngest ones, the last accessed one first */
    UInt young_count;
} Sample;

static UInt halvings;
static Sample samples[GRAINS];
static VgHashTable *sites;
static Site *shared_site; /* of all further code when the indices are used up */
static UInt site_count;
static ULong recent_values[RECENT];
static UInt recent_next;
static const UInt scales[SCALES] = { 1, 4, 8, 16, 32 };

static ULong buffer[(1 << 13) - 1];
static UInt buffered;
static Int pipe_fd = -1, log_fd = -1;
static Bool is_tracing;
static const HChar *from_function;
static ULong max_accesses, accesses_checked, until_check;
static Int max_seconds;
static UInt start_ms;

/* --- The pipe --- */

static void stop_tracing(void) {
    if (pipe_fd >= 0) VG_(close)(pipe_fd);
    pipe_fd = -1;
    is_tracing = False;
    buffered = 0;
}

/* The pipe does not block. So a reader that dies is seen by `poll`, and the program gets no SIGPIPE. */
static void write_bytes(const void *data, UInt bytes) {
    const UChar *next = data;
    while (bytes > 0 && pipe_fd >= 0) {
        struct vki_pollfd poll = { .fd = pipe_fd, .events = POLL_OUT };
        VG_(poll)(&poll, 1, -1);
        Int written = poll.revents & POLL_BROKEN ? -VKI_EPIPE : VG_(write)(pipe_fd, next, bytes);
        if (written > 0) next += written, bytes -= written;
        else if (written != -VKI_EAGAIN && written != -VKI_EINTR) stop_tracing();
    }
}

static void send(UInt kind, const void *payload, UInt bytes) {
    UInt header[2] = { kind, bytes };
    write_bytes(header, sizeof header);
    write_bytes(payload, bytes);
}

static void flush(void) {
    if (buffered > 0) send(ACCESSES, buffer, buffered * sizeof buffer[0]);
    buffered = 0;
}

/* --- The sample --- */

/* As in site.rs. Shifts by 64 are undefined, hence two of them. */
static inline Bool is_kept(const Sample *sample, ULong number) {
    ULong first = number * 0x9E3779B97F4A7C15ull;
    return (((first ^ (first >> 32)) * 0xD6E8FEB86659FD93ull) >> 1) >> (63 - sample->level) == 0;
}

static void halve(Sample *sample) {
    flush();
    sample->level++;
    halvings++;
    send(sample == &samples[LINE] ? HALVE_LINES : HALVE_PAGES, NULL, 0);
    VG_(HT_ResetIter)(sample->known);
    for (VgHashNode *node; (node = VG_(HT_Next)(sample->known)) != NULL;)
        if (!is_kept(sample, node->key)) {
            VG_(HT_remove_at_Iter)(sample->known);
            VG_(free)(node);
        }
    UInt young = sample->young_count;
    sample->young_count = 0;
    for (UInt i = 0; i < young; i++)
        if (is_kept(sample, sample->young[i])) sample->young[sample->young_count++] = sample->young[i];
}

/* Returns whether the line or page is in the sample, and adds it. */
static inline Bool keep(Sample *sample, ULong number) {
    if (!is_kept(sample, number)) return False;
    if (!sample->limit || VG_(HT_lookup)(sample->known, number)) return True;
    VgHashNode *node = VG_(malloc)("known", sizeof *node);
    node->key = number;
    VG_(HT_add_node)(sample->known, node);
    while (VG_(HT_count_nodes)(sample->known) > sample->limit) halve(sample);
    return is_kept(sample, number);
}

static inline void put(UInt kind, ULong site, ULong number) {
    buffer[buffered++] = ((ULong)kind << 62) | (site << NUMBER_BITS) | (number & (((ULong)1 << NUMBER_BITS) - 1));
}

/* Makes a line or page of the sample the youngest one. The reader is told of old ones, and of lines that the site enters. */
static inline void touch(Site *site, UInt grain, ULong number, Bool enters) {
    Sample *sample = &samples[grain];
    ULong *young = sample->young;
    UInt count = sample->young_count, place = 0;
    while (place < count && young[place] != number) place++;
    if (LIKELY(place < count)) {
        site->young[grain][place] += 1ull << sample->level;
        if (enters && grain == LINE) put(YOUNG_LINE, site->index, number);
    } else {
        Bool is_full = count == YOUNGEST;
        put(grain == LINE ? OLD_LINE : OLD_PAGE, site->index, number);
        put(is_full ? 2 : 0, count, is_full ? young[--place] : 0);
        sample->young_count += !is_full;
    }
    for (; place > 0; place--) young[place] = young[place - 1];
    young[0] = number;
    if (UNLIKELY(buffered > FULL)) flush();
}

/* --- Counters of a site --- */

/* Adds the steps since the stride began, which all equal it. */
static void settle(Site *site) {
    ULong kept = site->same_stride - site->kept_before;
    ULong distance = site->stride < 0 ? -site->stride : site->stride;
    if (kept == 0) return;
    site->kept_before = site->same_stride;
    site->kept_stride = site->stride;
    if (distance <= 64) site->run_bytes += kept * distance;
    else site->runs += kept;
}

static void begin_stride(Site *site, Addr address, Long step) {
    if (site->new_strides++ == 0) return;
    settle(site);
    site->stride = step;
    if (step > 0 && step <= (site->size > 8 ? site->size : 8)) site->run_bytes += step;
    else site->runs++;
    for (UInt i = 0; i < SCALES; i++) {
        ULong base = address - scales[i] * site->value;
        site->chained[i] += site->has_value && base == site->bases[i];
        site->bases[i] = base;
    }
    Bool is_pointed = False;
    for (UInt i = 0; i < RECENT; i++) is_pointed |= address - recent_values[i] < 256;
    site->pointed += is_pointed;
}

static void check_limits(void);

static inline __attribute__((always_inline)) void count(Site *site, Addr address) {
    if (UNLIKELY(!is_tracing)) return;
    Long step = address - site->address;
    Bool same_line = (address ^ site->address) < 1 << LINE_BITS;
    if (LIKELY(step == site->stride)) site->same_stride++;
    else if (step == 0) site->same_address++;
    else begin_stride(site, address, step);
    site->address = address;
    site->same_line += same_line;
    if (!same_line || UNLIKELY(site->halvings != halvings)) {
        site->keeps[LINE] = keep(&samples[LINE], address >> LINE_BITS);
        site->keeps[PAGE] = keep(&samples[PAGE], address >> PAGE_BITS);
        site->halvings = halvings;
    }
    if (site->keeps[LINE]) touch(site, LINE, address >> LINE_BITS, !same_line);
    if (site->keeps[PAGE]) touch(site, PAGE, address >> PAGE_BITS, False);
    if (UNLIKELY(--until_check == 0)) check_limits();
}

static VG_REGPARM(2) void count_access(Site *site, Addr address) { count(site, address); }
static VG_REGPARM(3) void count_load(Site *site, Addr address, ULong value) {
    count(site, address);
    site->has_value = True;
    site->value = value;
    /* Smaller values are no pointers. */
    if (value > 0xFFFF) recent_values[recent_next++ % RECENT] = value;
}

/* --- Begin and end of the trace --- */

static void set_next_check(void) {
    until_check = 1 << 12;
    if (max_accesses && max_accesses - accesses_checked < until_check) until_check = max_accesses - accesses_checked;
    accesses_checked += until_check;
}

static VG_REGPARM(0) void begin_trace(void) {
    if (is_tracing || pipe_fd < 0) return;
    is_tracing = True;
    start_ms = VG_(read_millisecond_timer)();
    set_next_check();
}

/* Writes the object, and a line for the function and each caller into which it is inlined. */
static void write_name(const Site *site, HChar *text, SizeT room) {
    const HChar *object;
    if (VG_(get_objname)(site->epoch, site->code, &object)) VG_(strlcpy)(text, object, 4096);
    InlIPCursor *cursor = VG_(new_IIPC)(site->epoch, site->code);
    do {
        const HChar *frame = VG_(describe_IP)(site->epoch, site->code, cursor);
        SizeT used = VG_(strlen)(text);
        if (room - used > VG_(strlen)(frame) + 2) VG_(sprintf)(text + used, "\n%s", frame);
    } while (VG_(next_IIPC)(cursor));
    VG_(delete_IIPC)(cursor);
}

static void send_site(Site *site) {
    static HChar message[1 << 14];
    ULong chained = 0, accesses = site->new_strides + site->same_stride + site->same_address;
    settle(site);
    for (UInt i = 0; i < SCALES; i++) chained = site->chained[i] > chained ? site->chained[i] : chained;
    ULong numbers[] = { site->index, site->code, site->size, site->is_store, accesses, site->same_address, site->same_stride,
        site->same_line, site->kept_stride, site->runs + site->same_address + 1, site->run_bytes, chained, site->pointed };
    VG_(memcpy)(message, numbers, sizeof numbers);
    VG_(memcpy)(message + sizeof numbers, site->young, sizeof site->young);
    HChar *text = message + sizeof numbers + sizeof site->young;
    if (!site->is_named) write_name(site, text, message + sizeof message - text);
    site->is_named = True;
    send(SITE, message, text - message + VG_(strlen)(text));
    text[0] = 0;
}

/* A later report, after an `exec` that failed, replaces this one. */
static void report(ULong reason) {
    if (pipe_fd < 0) return;
    flush();
    VG_(HT_ResetIter)(sites);
    for (Site *site; (site = VG_(HT_Next)(sites)) != NULL;)
        if (site->new_strides > 0) send_site(site);
    send(END, &reason, sizeof reason);
}

static void check_limits(void) {
    ULong ms = VG_(read_millisecond_timer)() - start_ms;
    put(TIME, 0, accesses_checked);
    if (buffered > FULL) flush();
    Bool is_late = max_seconds && ms >= (ULong)max_seconds * 1000;
    if (is_late || (max_accesses && accesses_checked == max_accesses)) {
        report(is_late ? SECONDS_REACHED : ACCESSES_REACHED);
        stop_tracing();
    }
    set_next_check();
}

/* --- Instrumentation --- */

/* The block that is being translated, and the address of its present instruction. */
static IRSB *block;
static Addr code;

static Site *find_site(UInt size, Bool is_store) {
    UWord key = code | ((UWord)size << 48) | ((UWord)is_store << 62);
    DiEpoch epoch = VG_(current_DiEpoch)();
    Site *site = VG_(HT_lookup)(sites, key);
    const HChar *before, *now;
    /* A library may be loaded where another one was: its sites are found no more, and are reported with the others. */
    Bool is_replaced = site && site->epoch.n != epoch.n && VG_(get_objname)(site->epoch, code, &before)
        && VG_(get_objname)(epoch, code, &now) && VG_(strcmp)(before, now) != 0;
    if (site && !is_replaced) return site;
    if (site_count == 1 << SITE_BITS) return shared_site;
    if (is_replaced) site->node.key = ~site->node.key;
    shared_site = site = VG_(calloc)("site", 1, sizeof *site);
    site->node.key = key, site->index = site_count++, site->epoch = epoch;
    site->code = code, site->size = size, site->is_store = is_store;
    site->stride = 1ll << 62; /* No step is that long. */
    VG_(HT_add_node)(sites, site);
    return site;
}

/* Adds the call that counts an access. `loaded` is where a load puts its value, which is passed on if it may be an address or index. */
static void add_access(Bool is_store, IRExpr *address, UInt size, IRTemp loaded, IRExpr *guard) {
    IRExpr *site = mkIRExpr_HWord((HWord)find_site(size, is_store)), *value = IRExpr_RdTmp(loaded);
    IRType type = is_store || loaded == IRTemp_INVALID || size < 4 ? Ity_INVALID : typeOfIRTemp(block->tyenv, loaded);
    if (type == Ity_I32) {
        value = IRExpr_RdTmp(newIRTemp(block->tyenv, Ity_I64));
        addStmtToIRSB(block, IRStmt_WrTmp(value->Iex.RdTmp.tmp, IRExpr_Unop(Iop_32Uto64, IRExpr_RdTmp(loaded))));
    }
    IRDirty *call = type == Ity_I32 || type == Ity_I64
        ? unsafeIRDirty_0_N(3, "count_load", VG_(fnptr_to_fnentry)(count_load), mkIRExprVec_3(site, address, value))
        : unsafeIRDirty_0_N(2, "count_access", VG_(fnptr_to_fnentry)(count_access), mkIRExprVec_2(site, address));
    if (guard) call->guard = guard;
    addStmtToIRSB(block, IRStmt_Dirty(call));
}

static void add_load(IRExpr *address, IRType type, IRTemp loaded, IRExpr *guard) {
    add_access(False, address, sizeofIRType(type), loaded, guard);
}
static void add_store(IRExpr *address, const IRExpr *data, IRExpr *guard) {
    add_access(True, address, sizeofIRType(typeOfIRExpr(block->tyenv, data)), IRTemp_INVALID, guard);
}

/* Whether a function has the wanted name, with or without namespace, arguments, and the suffixes of compilers. */
static Bool is_wanted(const HChar *name) {
    SizeT length = VG_(strlen)(from_function);
    for (const HChar *found = name; (found = VG_(strstr)(found, from_function)) != NULL; found++) {
        HChar before = found > name ? found[-1] : ':';
        const HChar *after = found + length;
        Bool is_end = VG_(strchr)("(.<", *after) || VG_(strcmp)(after, "_") == 0 || VG_(strncmp)(after, "::h", 3) == 0;
        if (is_end && (before == ':' || before == ' ')) return True;
    }
    return False;
}

static void add_begin(void) {
    const HChar *name;
    if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), code, &name) || !is_wanted(name)) return;
    IRDirty *call = unsafeIRDirty_0_N(0, "begin_trace", VG_(fnptr_to_fnentry)(begin_trace), mkIRExprVec_0());
    addStmtToIRSB(block, IRStmt_Dirty(call));
}

/* Adds the calls that count the accesses of a statement. */
static void add_accesses(const IRStmt *statement) {
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *load = statement->Ist.WrTmp.data;
        if (load->tag == Iex_Load) add_load(load->Iex.Load.addr, load->Iex.Load.ty, statement->Ist.WrTmp.tmp, NULL);
        break;
    }
    case Ist_Store: add_store(statement->Ist.Store.addr, statement->Ist.Store.data, NULL); break;
    case Ist_LoadG: {
        const IRLoadG *load = statement->Ist.LoadG.details;
        IRType result, loaded;
        typeOfIRLoadGOp(load->cvt, &result, &loaded);
        add_load(load->addr, loaded, load->dst, load->guard);
        break;
    }
    case Ist_StoreG: {
        const IRStoreG *store = statement->Ist.StoreG.details;
        add_store(store->addr, store->data, store->guard);
        break;
    }
    case Ist_CAS: {
        const IRCAS *cas = statement->Ist.CAS.details;
        UInt size = sizeofIRType(typeOfIRExpr(block->tyenv, cas->dataLo)) * (cas->dataHi ? 2 : 1);
        for (UInt is_store = False; is_store <= True; is_store++) add_access(is_store, cas->addr, size, IRTemp_INVALID, NULL);
        break;
    }
    case Ist_LLSC: {
        IRExpr *address = statement->Ist.LLSC.addr, *stored = statement->Ist.LLSC.storedata;
        IRTemp result = statement->Ist.LLSC.result;
        if (stored) add_store(address, stored, NULL);
        else add_load(address, typeOfIRTemp(block->tyenv, result), result, NULL);
        break;
    }
    case Ist_Dirty: {
        const IRDirty *helper = statement->Ist.Dirty.details;
        if (helper->mFx != Ifx_None) add_access(helper->mFx != Ifx_Read, helper->mAddr, helper->mSize, IRTemp_INVALID, helper->guard);
        break;
    }
    default: break; /* No access. */
    }
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
    const VexArchInfo *host, IRType guest_word, IRType host_word) {
    if (pipe_fd < 0) return in;
    block = deepCopyIRSBExceptStmts(in);
    for (Int i = 0; i < in->stmts_used; i++) {
        IRStmt *statement = in->stmts[i];
        addStmtToIRSB(block, statement);
        if (statement->tag == Ist_IMark) code = statement->Ist.IMark.addr;
        if (statement->tag == Ist_IMark && from_function && !is_tracing) add_begin();
        add_accesses(statement);
    }
    return block;
}

/* --- Events --- */

static void stop_in_child(ThreadId thread) { stop_tracing(); }

/* An `exec` that succeeds ends this tool without `finish`. */
static void before_call(ThreadId thread, UInt number, UWord *arguments, UInt count) {
    if (number == __NR_execve || number == __NR_execveat) report(PROGRAM_REPLACED);
}

static void after_call(ThreadId thread, UInt number, UWord *arguments, UInt count, SysRes result) { }
static void finish(Int exit_code) { report(PROGRAM_ENDED); }

static Bool read_option(const HChar *option) {
    return VG_INT_CLO(option, "--pipe", pipe_fd) || VG_INT_CLO(option, "--close", log_fd) || VG_INT_CLO(option, "--seconds", max_seconds)
        || VG_INT_CLO(option, "--accesses", max_accesses) || VG_INT_CLO(option, "--lines", samples[LINE].limit)
        || VG_INT_CLO(option, "--pages", samples[PAGE].limit) || VG_STR_CLO(option, "--from", from_function);
}
static void print_no_usage(void) { }

static void start(void) {
    sites = VG_(HT_construct)("sites");
    for (UInt grain = LINE; grain < GRAINS; grain++) samples[grain].known = VG_(HT_construct)("known");
    pipe_fd = VG_(safe_fd)(pipe_fd);
    VG_(close)(log_fd);
    if (!from_function) begin_trace();
}

static void before_options(void) {
    VG_(details_name)("apexmap");
    VG_(details_version)(NULL);
    VG_(details_description)("records how each load and store walks through memory");
    VG_(details_copyright_author)("The apexmap developers");
    VG_(details_bug_reports_to)("the developers of apexmap");
    VG_(basic_tool_funcs)(start, instrument, finish);
    VG_(needs_command_line_options)(read_option, print_no_usage, print_no_usage);
    VG_(needs_syscall_wrapper)(before_call, after_call);
    VG_(atfork)(NULL, NULL, stop_in_child);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
