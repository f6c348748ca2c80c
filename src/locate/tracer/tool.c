/* A valgrind tool that records how each load and store of a program walks through memory.

   SPDX-License-Identifier: MIT
   Copyright (c) The apexmap developers

   This file is under the MIT licence, like the rest of apexmap (see LICENSE-MIT). It becomes a work under the GPL only together
   with valgrind. That happens on the user's machine, where apexmap compiles it with the user's valgrind; the result is never
   distributed.

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
#include "pub_tool_xarray.h"

/* Of valgrind's core, stable since 2005: moves a descriptor to where programs can neither see nor close it. */
extern Int VG_(safe_fd)(Int old_fd);

enum { SCALES = 5, RECENT = 8, SITE_BITS = 20, LINE_BITS = 6, PAGE_BITS = 12 };

enum { POLL_OUT = 4, POLL_BROKEN = 8 | 16 | 32 }; /* Of poll(2); valgrind has only POLLIN. */

typedef struct {
    VgHashNode node; /* key: see `find_site` */
    UInt index, size;
    Addr code;
    Bool is_store, has_value, is_named; /* it loads integers; its name was sent */
    UChar keeps;   /* bits KEEPS_LINE and KEEPS_PAGE of the last address ... */
    UInt halvings; /* ... after so many halvings */
    DiEpoch epoch;  /* when the code was translated: libraries come and go */
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
} Site;

enum { KEEPS_LINE = 1, KEEPS_PAGE = 2 };
enum { ACCESSES = 1, HALVE_LINES, HALVE_PAGES, SITE, END };
enum { PROGRAM_ENDED, PROGRAM_REPLACED, ACCESSES_REACHED, SECONDS_REACHED };

/* The lines or pages of the sample, as a hash table with open addresses. `limit` 0 keeps all without a table. */
typedef struct {
    UWord *slots; /* number + 1; 0 is empty */
    UWord mask, count, limit;
    UInt level;   /* one of 2^level is kept */
    UInt message; /* that the level grows */
} Sample;

static UInt halvings;
static Sample lines = { .message = HALVE_LINES }, pages = { .message = HALVE_PAGES };
static VgHashTable *sites_by_key;
static XArray *sites;
static ULong recent_values[RECENT];
static UInt recent_next;
static const UInt scales[SCALES] = { 1, 4, 8, 16, 32 };

static ULong buffer[1 << 13];
static UInt buffered;
static Int pipe_fd = -1, log_fd = -1;
static Bool is_tracing;
static const HChar *from_function;
static ULong max_accesses, accesses_checked, until_check;
static Int max_seconds, line_limit, page_limit;
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

static inline ULong hash(ULong number) {
    ULong first = number * 0x9E3779B97F4A7C15ull;
    return (first ^ (first >> 32)) * 0xD6E8FEB86659FD93ull;
}

/* Shifts by 64 are undefined, hence two of them. */
static inline Bool is_kept(const Sample *sample, ULong hashed) { return (hashed >> 1) >> (63 - sample->level) == 0; }

static UWord *find_slot(Sample *sample, ULong number, ULong hashed) {
    UWord place = hashed & sample->mask;
    while (sample->slots[place] && sample->slots[place] != number + 1) place = (place + 1) & sample->mask;
    return &sample->slots[place];
}

static void prepare_sample(Sample *sample, Int limit) {
    UWord slots = 2;
    while (slots < 2 * (UWord)limit) slots *= 2;
    sample->limit = limit, sample->mask = slots - 1, sample->count = 0;
    sample->slots = limit ? VG_(calloc)("sample", slots, sizeof(UWord)) : NULL;
}

static void halve(Sample *sample) {
    flush();
    sample->level++;
    halvings++;
    send(sample->message, NULL, 0);
    UWord *old = sample->slots;
    prepare_sample(sample, sample->limit);
    for (UWord i = 0; i <= sample->mask; i++) {
        ULong hashed = hash(old[i] - 1);
        if (!old[i] || !is_kept(sample, hashed)) continue;
        *find_slot(sample, old[i] - 1, hashed) = old[i];
        sample->count++;
    }
    VG_(free)(old);
}

/* Returns whether the line or page is in the sample, and adds it. */
static inline Bool keep(Sample *sample, ULong number) {
    if (!sample->limit) return True;
    ULong hashed = hash(number);
    if (!is_kept(sample, hashed)) return False;
    UWord *slot = find_slot(sample, number, hashed);
    if (LIKELY(*slot)) return True;
    *slot = number + 1;
    if (++sample->count <= sample->limit) return True;
    while (sample->count > sample->limit) halve(sample);
    return is_kept(sample, hashed);
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
    for (UInt i = 0; i < RECENT; i++)
        if (address - recent_values[i] < 256) {
            site->pointed++;
            return;
        }
}

static void check_limits(void);

static inline void count(Site *site, Addr address) {
    if (UNLIKELY(!is_tracing)) return;
    Long step = address - site->address;
    Bool same_line = (address ^ site->address) < 1 << LINE_BITS;
    if (LIKELY(step == site->stride)) site->same_stride++;
    else if (step == 0) site->same_address++;
    else begin_stride(site, address, step);
    site->address = address;
    site->same_line += same_line;
    if (!same_line || UNLIKELY(site->halvings != halvings)) {
        site->keeps = keep(&lines, address >> LINE_BITS) * KEEPS_LINE;
        site->keeps |= keep(&pages, address >> PAGE_BITS) * KEEPS_PAGE;
        site->halvings = halvings;
    }
    if (site->keeps) {
        buffer[buffered++] =
            ((ULong)site->keeps << 62) | ((ULong)site->index << 42) | ((address >> LINE_BITS) & (((ULong)1 << 42) - 1));
        if (UNLIKELY(buffered == sizeof buffer / sizeof buffer[0])) flush();
    }
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
    until_check = 1 << 16;
    if (max_accesses && max_accesses - accesses_checked < until_check) until_check = max_accesses - accesses_checked;
    accesses_checked += until_check;
}

static VG_REGPARM(0) void begin_trace(void) {
    if (is_tracing || pipe_fd < 0) return;
    is_tracing = True;
    start_ms = VG_(read_millisecond_timer)();
    set_next_check();
}

static void send_site(Site *site) {
    static HChar message[1 << 14];
    ULong chained = 0, accesses = site->new_strides + site->same_stride + site->same_address;
    settle(site);
    for (UInt i = 0; i < SCALES; i++) chained = site->chained[i] > chained ? site->chained[i] : chained;
    ULong numbers[] = { site->index, site->code, site->size, site->is_store, accesses, site->same_address, site->same_stride,
        site->same_line, site->kept_stride, site->runs + site->same_address + 1, site->run_bytes, chained, site->pointed };
    VG_(memcpy)(message, numbers, sizeof numbers);
    HChar *text = message + sizeof numbers;
    if (!site->is_named) {
        const HChar *object;
        if (VG_(get_objname)(site->epoch, site->code, &object)) VG_(strlcpy)(text, object, 4096);
        InlIPCursor *cursor = VG_(new_IIPC)(site->epoch, site->code);
        do {
            const HChar *frame = VG_(describe_IP)(site->epoch, site->code, cursor);
            SizeT used = VG_(strlen)(text), left = message + sizeof message - text - used;
            if (left > VG_(strlen)(frame) + 2) VG_(sprintf)(text + used, "\n%s", frame);
        } while (VG_(next_IIPC)(cursor));
        VG_(delete_IIPC)(cursor);
        site->is_named = True;
    }
    send(SITE, message, sizeof numbers + VG_(strlen)(text));
    text[0] = 0;
}

/* A later report, after an `exec` that failed, replaces this one. */
static void report(ULong reason) {
    if (pipe_fd < 0) return;
    flush();
    for (Word i = 0; i < VG_(sizeXA)(sites); i++) {
        Site *site = *(Site **)VG_(indexXA)(sites, i);
        if (site->new_strides > 0) send_site(site);
    }
    send(END, &reason, sizeof reason);
}

static void check_limits(void) {
    ULong ms = VG_(read_millisecond_timer)() - start_ms;
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
    Site *site = VG_(HT_lookup)(sites_by_key, key);
    const HChar *before, *now;
    /* A library may be loaded where another one was. */
    if (site && site->epoch.n != epoch.n && VG_(get_objname)(site->epoch, code, &before)
        && VG_(get_objname)(epoch, code, &now) && VG_(strcmp)(before, now) != 0) {
        VG_(HT_remove)(sites_by_key, key);
        site = NULL;
    }
    UWord known = VG_(sizeXA)(sites);
    if (site) return site;
    if (known == 1 << SITE_BITS) return *(Site **)VG_(indexXA)(sites, known - 1); /* All further code shares a site. */
    site = VG_(calloc)("site", 1, sizeof *site);
    site->node.key = key, site->index = known, site->epoch = epoch;
    site->code = code, site->size = size, site->is_store = is_store;
    site->stride = 1ll << 62; /* No step is that long. */
    VG_(HT_add_node)(sites_by_key, site);
    VG_(addToXA)(sites, &site);
    return site;
}

/* Adds the call that counts an access. Values of loads are passed on if they may be addresses or indices. */
static void add_access(Bool is_store, IRExpr *address, UInt size, IRTemp loaded, IRExpr *guard) {
    IRExpr *site = mkIRExpr_HWord((HWord)find_site(size, is_store));
    IRType type = loaded == IRTemp_INVALID || size < 4 ? Ity_INVALID : typeOfIRTemp(block->tyenv, loaded);
    IRExpr *value = IRExpr_RdTmp(loaded);
    if (type == Ity_I32) {
        IRTemp wide = newIRTemp(block->tyenv, Ity_I64);
        addStmtToIRSB(block, IRStmt_WrTmp(wide, IRExpr_Unop(Iop_32Uto64, value)));
        value = IRExpr_RdTmp(wide);
    }
    IRDirty *call = type == Ity_I32 || type == Ity_I64
        ? unsafeIRDirty_0_N(3, "count_load", VG_(fnptr_to_fnentry)(count_load), mkIRExprVec_3(site, address, value))
        : unsafeIRDirty_0_N(2, "count_access", VG_(fnptr_to_fnentry)(count_access), mkIRExprVec_2(site, address));
    if (guard) call->guard = guard;
    addStmtToIRSB(block, IRStmt_Dirty(call));
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
    IRDirty *call = unsafeIRDirty_0_N(0, "begin_trace", VG_(fnptr_to_fnentry)(begin_trace), mkIRExprVec_0());
    if (VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), code, &name) && is_wanted(name)) addStmtToIRSB(block, IRStmt_Dirty(call));
}

/* Adds a statement and the calls that count its accesses. */
static void add_statement(const IRStmt *statement) {
    IRTypeEnv *types = block->tyenv;
    addStmtToIRSB(block, (IRStmt *)statement);
    switch (statement->tag) {
    case Ist_IMark:
        code = statement->Ist.IMark.addr;
        if (from_function && !is_tracing) add_begin();
        break;
    case Ist_WrTmp: {
        const IRExpr *load = statement->Ist.WrTmp.data;
        if (load->tag == Iex_Load)
            add_access(False, load->Iex.Load.addr, sizeofIRType(load->Iex.Load.ty), statement->Ist.WrTmp.tmp, NULL);
        break;
    }
    case Ist_Store: {
        UInt size = sizeofIRType(typeOfIRExpr(types, statement->Ist.Store.data));
        add_access(True, statement->Ist.Store.addr, size, IRTemp_INVALID, NULL); break;
    }
    case Ist_LoadG: {
        const IRLoadG *load = statement->Ist.LoadG.details;
        IRType result, loaded;
        typeOfIRLoadGOp(load->cvt, &result, &loaded);
        add_access(False, load->addr, sizeofIRType(loaded), load->dst, load->guard); break;
    }
    case Ist_StoreG: {
        const IRStoreG *store = statement->Ist.StoreG.details;
        add_access(True, store->addr, sizeofIRType(typeOfIRExpr(types, store->data)), IRTemp_INVALID, store->guard); break;
    }
    case Ist_CAS: {
        const IRCAS *cas = statement->Ist.CAS.details;
        UInt size = sizeofIRType(typeOfIRExpr(types, cas->dataLo)) * (cas->dataHi ? 2 : 1);
        add_access(False, cas->addr, size, IRTemp_INVALID, NULL);
        add_access(True, cas->addr, size, IRTemp_INVALID, NULL); break;
    }
    case Ist_LLSC: {
        const IRExpr *stored = statement->Ist.LLSC.storedata;
        IRTemp result = statement->Ist.LLSC.result;
        UInt size = sizeofIRType(stored ? typeOfIRExpr(types, stored) : typeOfIRTemp(types, result));
        add_access(stored != NULL, statement->Ist.LLSC.addr, size, stored ? IRTemp_INVALID : result, NULL); break;
    }
    case Ist_Dirty: {
        const IRDirty *helper = statement->Ist.Dirty.details;
        if (helper->mFx != Ifx_None)
            add_access(helper->mFx != Ifx_Read, helper->mAddr, helper->mSize, IRTemp_INVALID, helper->guard);
        break;
    }
    }
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
    const VexArchInfo *host, IRType guest_word, IRType host_word) {
    if (pipe_fd < 0) return in;
    block = deepCopyIRSBExceptStmts(in);
    for (Int i = 0; i < in->stmts_used; i++)
        if (in->stmts[i] && in->stmts[i]->tag != Ist_NoOp) add_statement(in->stmts[i]);
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
    Long accesses;
    if (VG_INT_CLO(option, "--pipe", pipe_fd) || VG_INT_CLO(option, "--close", log_fd) || VG_INT_CLO(option, "--seconds", max_seconds)
        || VG_INT_CLO(option, "--lines", line_limit) || VG_INT_CLO(option, "--pages", page_limit)
        || VG_STR_CLO(option, "--from", from_function))
        return True;
    if (!VG_INT_CLO(option, "--accesses", accesses)) return False;
    max_accesses = accesses;
    return True;
}
static void print_no_usage(void) { }

static void start(void) {
    sites_by_key = VG_(HT_construct)("sites");
    sites = VG_(newXA)(VG_(malloc), "sites", VG_(free), sizeof(Site *));
    prepare_sample(&lines, line_limit);
    prepare_sample(&pages, page_limit);
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
