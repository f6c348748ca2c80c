/* A valgrind tool that records how each load and store of a program walks through memory.

   SPDX-License-Identifier: MIT
   Copyright (c) The apexmap developers
   This file is under the MIT licence (see LICENSE-MIT). It becomes a work under the GPL only together with valgrind. That happens on
   the user's machine, where apexmap compiles it with the user's valgrind; the result is never distributed.

   A *site* is a load or store instruction: an address, a size and a direction. VEX unrolls loops, so one instruction may be
   translated several times; all of its translations share the site. `Counters` in site.rs defines what is counted.
   Output is a sequence of messages through a socket. Each has a header of two 32-bit words: kind and bytes of the payload. */
#include "pub_tool_basics.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
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

/* Of valgrind's core, stable since 2005. The first moves a descriptor to where programs can neither see nor close it, the second writes
   without SIGPIPE: programs survive the end of the reader. The last three trace a program that replaces this one. */
extern Int VG_(safe_fd)(Int old_fd);
extern Int VG_(write_socket)(Int socket, const void *data, Int bytes);
extern Int VG_(fcntl)(Int fd, Int command, Addr argument);
extern Bool VG_(clo_trace_children);
extern const HChar *VG_(name_of_launcher);

enum { SCALES = 5, RECENT = 8, PATIENCE = 8, YOUNGEST = 8, SITE_BITS = 20, NUMBER_BITS = 42, LINE_BITS = 6, SLOT_BITS = 21, SLOTS = 1 << SLOT_BITS };
/* Accesses that are recorded until they are counted, and the words that they put at most. */
enum { RECORDS = 1 << 8, MOST_WORDS = 3 * RECORDS, BUFFER_WORDS = 1 << 13 };
/* Pages of 4 KiB. A page that is among so many recent ones is not passed on: every TLB holds it. */
enum { PAGE_BITS = 12, RECENT_PAGES = 32, PAGE_PLACES = 64 };
enum { LEVEL_WORDS = 1 << 22, MANY_LINES = 1 << 14 }; /* The rate halves after so many words of a level, while it has many lines. */

typedef struct Site {
    VgHashNode node; /* key: see `find_site` */
    UInt index, size;
    Bool is_store;
    DiEpoch epoch; /* when the code was translated: libraries come and go */
    const DebugInfo *object;
    Addr code, address; /* of the instruction, and of the last access */
    Long stride;  /* the last step other than 0 */
    ULong same_address, same_stride, same_line;
    ULong new_strides; /* accesses with another stride, the first access included */
    ULong kept_before; /* same_stride when the stride began */
    Long kept_stride;
    ULong runs, run_bytes, pointed;
    ULong value; /* the last integer that it loaded */
    struct Site *before; /* whose value its addresses are compared with: its own at first */
    UInt failed; /* accesses that did not match since the last one that did */
    ULong time, interval; /* accesses of all sites until its last one, and since its one before */
    ULong bases[SCALES], chained[SCALES];
    ULong young[YOUNGEST]; /* accesses to the youngest lines, by their place, times 2^level */
} Site;

/* Counting at once would fill a core's window with our instructions, so that it waits for each of the program's cache misses alone. */
typedef struct { Site *site; Addr address; ULong value; /* that is loaded, if it may be an address or index */ } Record;

enum { ACCESSES = 1, HALVE, SITE, END, BEGIN };
/* Words of ACCESSES: 2 bits, then 20 bits of the site and 42 of the line's number. An old line, or a new one, is followed by a word:
   bit 63 and 42 bits are the line that it displaces among the youngest, bits 42 to 45 their number before. Pages are sampled as lines. */
enum { OLD_LINE, YOUNG_LINE, PAGE };
enum { PROGRAM_ENDED, PROGRAM_REPLACED, ACCESSES_REACHED, SECONDS_REACHED };

/* The sample: one of 2^level lines. Several lines may share a slot: 1 plus the highest level that keeps one of them, 0 without lines.
   There are so many slots that counting them undercounts lines by a few percent at most. */
static UChar slots[SLOTS];
static Int max_lines; /* 0 keeps all */
static UInt level, level_words, line_count, young_count;
static ULong young[YOUNGEST]; /* the youngest lines of the sample, the last accessed one first */
static VgHashTable *sites;
static Site *shared_site; /* of all further code when the indices are used up */
static UInt site_count, recent_next, buffered = 1, start_ms;
static ULong recent_values[RECENT];
static const UInt scales[SCALES] = { 1, 4, 8, 16, 32 };
static const ULong NUMBER_MASK = (1ull << NUMBER_BITS) - 1;
static ULong buffer[BUFFER_WORDS]; /* a message */
static Int socket = -1, log_fd = -1, max_seconds;
static Bool is_tracing, is_child, is_replacing;
static ULong ticks_before[2]; /* of the programs that this one replaced */
static ULong failed_map; /* bytes of the largest map that the program could not get */
static const HChar *from_function;
static ULong max_accesses, accesses, skipped; /* the last before the trace began */
static Record records[RECORDS];
static UInt recorded, wanted; /* records, and the number at which they are counted */
static IRSB *block; /* that is being translated */
static Addr code; /* of its present instruction */

static void stop_tracing(void) {
    if (socket >= 0) VG_(close)(socket);
    socket = -1, is_tracing = False, buffered = 1;
}

/* Sends a message whose first word is free for the header. */
static void send(UInt kind, ULong *message, UInt bytes) {
    const UChar *next = (const UChar *)message;
    message[0] = kind | (bytes - sizeof message[0]) << 32;
    while (bytes > 0 && socket >= 0) {
        Int written = VG_(write_socket)(socket, next, bytes);
        if (written <= 0) stop_tracing();
        next += written, bytes -= written;
    }
}
static void flush(void) {
    if (buffered > 1) send(ACCESSES, buffer, buffered * sizeof buffer[0]);
    level_words += buffered;
    buffered = 1;
}
/* Returns the highest level at which a line is in the sample: see site.rs. */
static inline UInt highest_level(ULong line) {
    ULong first = line * 0x9E3779B97F4A7C15ull;
    return __builtin_clzll((first ^ (first >> 32)) * 0xD6E8FEB86659FD93ull | 1);
}

static void halve(void) {
    ULong message[1];
    UInt kept = 0;
    flush();
    send(HALVE, message, sizeof message);
    level++;
    level_words = line_count = 0;
    for (UInt slot = 0; slot < SLOTS; slot++) line_count += slots[slot] > level;
    for (UInt place = 0; place < young_count; place++)
        if (highest_level(young[place]) >= level) young[kept++] = young[place];
    young_count = kept;
}

/* Counts the lines among some words, and halves the rate if the sample has too many or has sent much. Slots are far apart: a short
   loop waits for several of them at once. */
static void add_lines(UInt first, UInt end) {
    for (UInt word = first; word < end; word++) {
        if (buffer[word] >> 62 != OLD_LINE) continue;
        ULong line = buffer[word++] & NUMBER_MASK;
        UChar *slot = &slots[line * 0x9E3779B97F4A7C15ull >> (64 - SLOT_BITS)], highest = highest_level(line);
        line_count += highest >= level && *slot <= level;
        if (*slot <= highest) *slot = highest + 1;
        while (UNLIKELY(line_count > max_lines)) halve();
    }
    if (level_words > LEVEL_WORDS && line_count > MANY_LINES) halve();
}

static inline void put(UInt kind, ULong site, ULong number) {
    buffer[buffered++] = (ULong)kind << 62 | site << NUMBER_BITS | (number & NUMBER_MASK);
}

/* Makes a line of the sample the youngest one. The reader is told of old ones, and of young ones that the site enters. */
static inline void touch(Site *site, ULong line, Bool enters) {
    ULong moved = line; /* from the place before */
    for (UInt place = 0; place < young_count; place++) {
        ULong next = young[place];
        young[place] = moved;
        moved = next;
        if (next != line) continue;
        site->young[place] += 1ull << level;
        if (enters) put(YOUNG_LINE, site->index, line);
        return;
    }
    Bool is_full = young_count == YOUNGEST;
    put(OLD_LINE, site->index, line);
    put(is_full ? 2 : 0, young_count, is_full ? moved : 0);
    if (!is_full) young[young_count++] = moved;
}

/* A site enters a page. Those that are recent wait in a table, which is emptied after `RECENT_PAGES` entries. */
static void enter_page(Site *site, ULong page) {
    static ULong recent[PAGE_PLACES];
    static UInt count;
    if (recent[page % PAGE_PLACES] == page) return;
    if (count++ == RECENT_PAGES) VG_(memset)(recent, count = 0, sizeof recent);
    recent[page % PAGE_PLACES] = page;
    if (level == 0 || highest_level(page) >= level) put(PAGE, site->index, page);
}

/* The longest step to the next words in order. */
static inline ULong width(const Site *site) { return site->size > 8 ? site->size : 8; }

/* Adds the steps since the stride began, which all equal it. */
static void settle(Site *site) {
    ULong kept = site->same_stride - site->kept_before;
    ULong distance = site->stride < 0 ? -site->stride : site->stride;
    if (kept == 0) return;
    site->kept_before = site->same_stride;
    site->kept_stride = site->stride;
    if (distance <= width(site)) site->run_bytes += kept * distance;
    else site->runs += kept;
}
/* Compares an address with the value of the site before in its chain. In an unrolled loop that is another site: one of the last that began
   a stride. The next one is tried after some accesses in a row that do not match. */
static void find_before(Site *site, Addr address) {
    static Site *loads[RECENT];
    static UInt next;
    Bool is_chained = False;
    for (UInt i = 0; i < SCALES; i++) {
        ULong base = address - scales[i] * site->before->value;
        is_chained |= base == site->bases[i];
        site->chained[i] += base == site->bases[i];
        site->bases[i] = base;
    }
    site->failed = is_chained ? 0 : site->failed + 1;
    UInt back = site->failed / PATIENCE % (RECENT + 1);
    if (!is_chained && site->failed % PATIENCE == 0) site->before = back > 0 && next >= back ? loads[(next - back) % RECENT] : site;
    loads[next++ % RECENT] = site;
}
static void begin_stride(Site *site, Addr address, Long step) {
    if (site->new_strides++ == 0) return;
    settle(site);
    site->stride = step;
    if (step > 0 && step <= width(site)) site->run_bytes += step;
    else site->runs++;
    if (!site->is_store) find_before(site, address);
    Bool is_pointed = False;
    for (UInt i = 0; i < RECENT; i++) is_pointed |= address - recent_values[i] < 256;
    site->pointed += is_pointed;
}

static inline void count(Site *site, Addr address, ULong value, ULong time) {
    Long step = address - site->address;
    Bool same_line = (address ^ site->address) < 1 << LINE_BITS;
    if (LIKELY(step == site->stride)) site->same_stride++;
    else if (step == 0) site->same_address++;
    else begin_stride(site, address, step);
    if (UNLIKELY((address ^ site->address) >> PAGE_BITS)) enter_page(site, address >> PAGE_BITS);
    site->address = address;
    site->same_line += same_line;
    if (level == 0 || highest_level(address >> LINE_BITS) >= level) touch(site, address >> LINE_BITS, !same_line);
    site->interval = time - site->time;
    site->time = time;
    site->value = value;
    if (value > 0xFFFF) recent_values[recent_next++ % RECENT] = value; /* Smaller values are no pointers. */
}

static void count_records(void) {
    if (recorded == 0) return;
    UInt first = buffered;
    for (UInt i = 0; i < recorded; i++) count(records[i].site, records[i].address, records[i].value, accesses + i);
    accesses += recorded;
    recorded = 0;
    if (max_lines) add_lines(first, buffered);
    if (buffered > BUFFER_WORDS - MOST_WORDS) flush();
}

static VG_REGPARM(0) void begin_trace(void) {
    if (is_tracing || socket < 0) return;
    is_tracing = True, wanted = 1;
    start_ms = VG_(read_millisecond_timer)();
}

/* Writes the object, and a line for the function and each caller into which it is inlined. */
static void write_name(const Site *site, HChar *text, SizeT room) {
    const HChar *object;
    VG_(strlcpy)(text, VG_(get_objname)(site->epoch, site->code, &object) ? object : "", 4096);
    InlIPCursor *cursor = VG_(new_IIPC)(site->epoch, site->code);
    do {
        const HChar *frame = VG_(describe_IP)(site->epoch, site->code, cursor);
        SizeT used = VG_(strlen)(text);
        if (room - used > VG_(strlen)(frame) + 2) VG_(sprintf)(text + used, "\n%s", frame);
    } while (VG_(next_IIPC)(cursor));
    VG_(delete_IIPC)(cursor);
}

static void send_site(Site *site) {
    static struct { ULong numbers[18], young[YOUNGEST]; HChar name[1 << 13]; } message;
    ULong chained = 0, total = site->new_strides + site->same_stride + site->same_address;
    settle(site);
    for (UInt i = 0; i < SCALES; i++) chained = site->chained[i] > chained ? site->chained[i] : chained;
    ULong numbers[] = { 0, site->index, site->code, site->size, site->is_store, total, site->same_address, site->same_stride,
        site->same_line, site->kept_stride, site->runs + site->same_address + 1, site->run_bytes, chained, site->pointed,
        site->address, site->before->index, site->time, site->interval };
    VG_(memcpy)(message.numbers, numbers, sizeof numbers);
    VG_(memcpy)(message.young, site->young, sizeof site->young);
    write_name(site, message.name, sizeof message.name);
    send(SITE, message.numbers, message.name - (HChar *)&message + VG_(strlen)(message.name));
}

/* Reads the processor time of this process and of the children for which it has waited, in ticks: see proc(5). */
static void read_ticks(ULong *own, ULong *children) {
    HChar text[1024];
    SysRes file = VG_(open)("/proc/self/stat", VKI_O_RDONLY, 0);
    if (sr_isError(file)) return;
    Int length = VG_(read)(sr_Res(file), text, sizeof text - 1);
    VG_(close)(sr_Res(file));
    text[length > 0 ? length : 0] = 0;
    HChar *next = VG_(strrchr)(text, ')');
    for (UInt field = 2; next && *next && field < 17; next++) {
        if (*next != ' ') continue;
        field++;
        if (field == 14 || field == 15) *own += VG_(strtoull10)(next + 1, NULL);
        if (field == 16 || field == 17) *children += VG_(strtoull10)(next + 1, NULL);
    }
}

/* A later report, after an `exec` that failed, replaces this one. */
static void report(ULong reason) {
    ULong end[] = { 0, reason, 0, 0, failed_map, skipped };
    if (socket < 0) return;
    read_ticks(&end[2], &end[3]);
    end[2] -= ticks_before[0], end[3] -= ticks_before[1];
    count_records();
    flush();
    VG_(HT_ResetIter)(sites);
    for (Site *site; (site = VG_(HT_Next)(sites)) != NULL;)
        if (site->new_strides > 0) send_site(site);
    send(END, end, sizeof end);
}
static void check_limits(void) {
    count_records();
    Bool is_late = max_seconds && VG_(read_millisecond_timer)() - start_ms >= (ULong)max_seconds * 1000;
    if (is_late || accesses == max_accesses) {
        report(is_late ? SECONDS_REACHED : ACCESSES_REACHED);
        stop_tracing();
    }
    ULong left = max_accesses - accesses;
    wanted = max_accesses && left < RECORDS ? left : RECORDS;
}

static VG_REGPARM(3) void record(Site *site, Addr address, ULong value) {
    if (UNLIKELY(!is_tracing)) { skipped++; return; }
    records[recorded++] = (Record){ site, address, value };
    if (UNLIKELY(recorded == wanted)) check_limits();
}
static Site *find_site(UInt size, Bool is_store) {
    UWord key = code | ((UWord)size << 48) | ((UWord)is_store << 62);
    DiEpoch epoch = VG_(current_DiEpoch)();
    const DebugInfo *object = VG_(find_DebugInfo)(epoch, code);
    Site *site = VG_(HT_lookup)(sites, key);
    if (site && site->object == object) return site;
    if (site_count == 1 << SITE_BITS) return shared_site;
    /* A library is loaded where another one was: the old site is found no more, and is reported with the others. */
    if (site) site->node.key = ~key;
    shared_site = site = VG_(calloc)("site", 1, sizeof *site);
    site->node.key = key, site->index = site_count++, site->epoch = epoch, site->object = object;
    site->code = code, site->size = size, site->is_store = is_store;
    site->before = site;
    site->stride = 1ll << 62; /* No step is that long. */
    VG_(HT_add_node)(sites, site);
    return site;
}

/* Adds the call that records an access. `loaded` is where a load puts its value. */
static void add_access(Bool is_store, IRExpr *address, UInt size, IRTemp loaded, IRExpr *guard) {
    IRExpr *value = IRExpr_RdTmp(loaded);
    IRType type = loaded == IRTemp_INVALID || size < 4 ? Ity_INVALID : typeOfIRTemp(block->tyenv, loaded);
    if (type == Ity_I32) {
        value = IRExpr_RdTmp(newIRTemp(block->tyenv, Ity_I64));
        addStmtToIRSB(block, IRStmt_WrTmp(value->Iex.RdTmp.tmp, IRExpr_Unop(Iop_32Uto64, IRExpr_RdTmp(loaded))));
    } else if (type != Ity_I64) value = mkIRExpr_HWord(0);
    IRExpr **arguments = mkIRExprVec_3(mkIRExpr_HWord((HWord)find_site(size, is_store)), address, value);
    IRDirty *call = unsafeIRDirty_0_N(3, "record", VG_(fnptr_to_fnentry)(record), arguments);
    if (guard) call->guard = guard;
    addStmtToIRSB(block, IRStmt_Dirty(call));
}
static void add_store(IRExpr *address, const IRExpr *data, IRExpr *guard) {
    add_access(True, address, sizeofIRType(typeOfIRExpr(block->tyenv, data)), IRTemp_INVALID, guard);
}

/* Whether the instruction begins the wanted function. Names may have namespace, arguments, and the suffixes of compilers. */
static Bool is_wanted_begin(void) {
    const HChar *name;
    if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), code, &name)) return False;
    for (const HChar *found = name; (found = VG_(strstr)(found, from_function)) != NULL; found++) {
        const HChar *after = found + VG_(strlen)(from_function);
        Bool is_start = found == name || found[-1] == ':' || found[-1] == ' ';
        Bool is_end = VG_(strchr)("(.<", *after) || VG_(strcmp)(after, "_") == 0 || VG_(strncmp)(after, "::h", 3) == 0;
        if (is_start && is_end) return True;
    }
    return False;
}

/* Adds the calls that count the accesses of a statement. */
static void add_accesses(const IRStmt *statement) {
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *load = statement->Ist.WrTmp.data;
        if (load->tag == Iex_Load)
            add_access(False, load->Iex.Load.addr, sizeofIRType(load->Iex.Load.ty), statement->Ist.WrTmp.tmp, NULL);
        break;
    }
    case Ist_Store: add_store(statement->Ist.Store.addr, statement->Ist.Store.data, NULL); break;
    case Ist_LoadG: {
        const IRLoadG *load = statement->Ist.LoadG.details;
        IRType result, loaded;
        typeOfIRLoadGOp(load->cvt, &result, &loaded);
        add_access(False, load->addr, sizeofIRType(loaded), load->dst, load->guard);
        break;
    }
    case Ist_StoreG:
        add_store(statement->Ist.StoreG.details->addr, statement->Ist.StoreG.details->data, statement->Ist.StoreG.details->guard);
        break;
    case Ist_CAS: {
        const IRCAS *cas = statement->Ist.CAS.details;
        UInt size = sizeofIRType(typeOfIRExpr(block->tyenv, cas->dataLo)) * (cas->dataHi ? 2 : 1);
        for (UInt is_store = False; is_store <= True; is_store++) add_access(is_store, cas->addr, size, IRTemp_INVALID, NULL);
        break;
    }
    case Ist_LLSC: {
        const IRExpr *stored = statement->Ist.LLSC.storedata;
        IRType type = stored ? typeOfIRExpr(block->tyenv, stored) : typeOfIRTemp(block->tyenv, statement->Ist.LLSC.result);
        add_access(stored != NULL, statement->Ist.LLSC.addr, sizeofIRType(type), IRTemp_INVALID, NULL);
        break;
    }
    case Ist_Dirty: {
        const IRDirty *helper = statement->Ist.Dirty.details;
        if (helper->mFx != Ifx_None) add_access(helper->mFx != Ifx_Read, helper->mAddr, helper->mSize, IRTemp_INVALID, helper->guard);
    }
    }
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
    const VexArchInfo *host, IRType guest_word, IRType host_word) {
    if (socket < 0) return in;
    block = deepCopyIRSBExceptStmts(in);
    for (Int i = 0; i < in->stmts_used; i++) {
        IRStmt *statement = in->stmts[i];
        addStmtToIRSB(block, statement);
        if (statement->tag == Ist_IMark) code = statement->Ist.IMark.addr;
        if (statement->tag == Ist_IMark && from_function && !is_tracing && is_wanted_begin())
            addStmtToIRSB(block, IRStmt_Dirty(unsafeIRDirty_0_N(0, "begin", VG_(fnptr_to_fnentry)(begin_trace), mkIRExprVec_0())));
        add_accesses(statement);
    }
    return block;
}

/* The log has a line for each process that the program forks, with the program that it then starts. A later line replaces an earlier one,
   and all before `begin` are of programs that were replaced. */
static void write_child(const HChar *path) {
    HChar line[5000];
    if (is_child) VG_(write)(log_fd, line, VG_(snprintf)(line, sizeof line, "child %d %s\n", VG_(getpid)(), path));
}
static void stop_in_child(ThreadId thread) {
    stop_tracing();
    is_child = True;
    write_child("");
}

/* Whether valgrind runs a program: a script, or an ELF file of 64 bits for this processor that does not run as another user. */
static Bool is_runnable(const HChar *path) {
    struct vg_stat status;
    UChar start[20];
    if (sr_isError(VG_(stat)(path, &status)) || (status.mode & 06000)) return False;
    SysRes file = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(file)) return False;
    Int length = VG_(read)(sr_Res(file), start, sizeof start);
    VG_(close)(sr_Res(file));
#if defined(VGA_amd64)
    const UChar machine = 62;
#else
    const UChar machine = 183;
#endif
    return (length > 2 && start[0] == '#' && start[1] == '!')
        || (length == sizeof start && VG_(memcmp)(start, "\177ELF\2", 5) == 0 && start[18] == machine && start[19] == 0);
}

/* Prepares that valgrind runs the program that replaces this one, with the same descriptors; or undoes it. */
static void follow(Bool follows) {
    static HChar options[3][32], launcher[4200], *first[2] = { launcher, NULL };
    static const HChar *tool, environment[] = "/usr/bin/env";
    Int next = 0;
    if (follows && !is_runnable(environment)) return;
    is_replacing = VG_(clo_trace_children) = follows;
    VG_(fcntl)(socket, VKI_F_SETFD, follows ? 0 : VKI_FD_CLOEXEC);
    VG_(fcntl)(log_fd, VKI_F_SETFD, follows ? 0 : VKI_FD_CLOEXEC);
    VG_(snprintf)(options[0], sizeof options[0], "--socket=%d", socket);
    VG_(snprintf)(options[1], sizeof options[1], "--close=%d", log_fd);
    VG_(snprintf)(options[2], sizeof options[2], "--log-fd=%d", log_fd);
    /* The tool starts only with a variable that programs do not see, so that `env` has to set it. */
    if (follows) {
        tool = VG_(name_of_launcher);
        VG_(name_of_launcher) = environment;
        VG_(snprintf)(launcher, sizeof launcher, "VALGRIND_LAUNCHER=%s", tool);
        first[1] = (HChar *)tool;
    } else VG_(name_of_launcher) = tool;
    for (Int i = 0; i < 2; i++) {
        if (follows) VG_(insertIndexXA)(VG_(args_for_valgrind), i, &first[i]);
        else VG_(removeIndexXA)(VG_(args_for_valgrind), 0);
    }
    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_valgrind)); i++) {
        HChar **option = VG_(indexXA)(VG_(args_for_valgrind), i);
        for (next = 0; next < 3; next++)
            if (VG_(strncmp)(*option, options[next], VG_(strchr)(options[next], '=') - options[next] + 1) == 0) *option = options[next];
    }
}

/* An `exec` that succeeds ends this tool without `finish`. */
static void before_call(ThreadId thread, UInt number, UWord *arguments, UInt count) {
    if (number != __NR_execve && number != __NR_execveat) return;
    const HChar *path = (const HChar *)arguments[number == __NR_execveat];
    Bool is_valid = VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ);
    write_child(is_valid ? path : "");
    report(PROGRAM_REPLACED);
    if (socket >= 0 && is_valid && number == __NR_execve && is_runnable(path)) follow(True);
}
static void after_call(ThreadId thread, UInt number, UWord *arguments, UInt count, SysRes result) {
    if (number == __NR_mmap && sr_isError(result) && arguments[1] > failed_map) failed_map = arguments[1];
    if (number != __NR_execve && number != __NR_execveat) return;
    write_child("");
    if (is_replacing) follow(False);
}
static void finish(Int exit_code) { report(PROGRAM_ENDED); }
static void print_no_usage(void) { }

static Bool read_option(const HChar *option) {
    return VG_INT_CLO(option, "--socket", socket) || VG_INT_CLO(option, "--close", log_fd) || VG_INT_CLO(option, "--seconds", max_seconds)
        || VG_INT_CLO(option, "--accesses", max_accesses) || VG_BINT_CLO(option, "--lines", max_lines, 0, SLOTS / 8)
        || VG_STR_CLO(option, "--from", from_function);
}
static void start(void) {
    struct { ULong header; HChar name[4096]; } message;
    sites = VG_(HT_construct)("sites");
    socket = VG_(safe_fd)(socket);
    log_fd = VG_(safe_fd)(log_fd);
    VG_(write)(log_fd, "\nbegin\n", 7);
    read_ticks(&ticks_before[0], &ticks_before[1]);
    VG_(strlcpy)(message.name, VG_(args_the_exename), sizeof message.name);
    send(BEGIN, &message.header, sizeof message.header + VG_(strlen)(message.name));
    if (!from_function) begin_trace();
}
static void before_options(void) {
    VG_(details_name)("apexmap");
    VG_(details_description)("records how each load and store walks through memory");
    VG_(details_copyright_author)("The apexmap developers");
    VG_(details_bug_reports_to)("the developers of apexmap");
    VG_(basic_tool_funcs)(start, instrument, finish);
    VG_(needs_command_line_options)(read_option, print_no_usage, print_no_usage);
    VG_(needs_syscall_wrapper)(before_call, after_call);
    VG_(atfork)(NULL, NULL, stop_in_child);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
