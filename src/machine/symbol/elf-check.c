#include "machine/symbol/elf-check.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM_HEADERS_MAX 256	  /* linkers write a dozen */
#define SECTIONS_MAX	    65000 /* a program built with a section a function is linked into a few dozen */
#define NOTES_MAX	    65536 /* bytes of one PT_NOTE; compilers write hundreds */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

static bool lies_in(uint64_t offset, uint64_t size, uint64_t file_size)
{
	return offset <= file_size && size <= file_size - offset;
}

/* What is looked at of the headers, of either word size. */
struct headers {
	bool narrow; /* 32 bits */
	uint16_t type, program_headers, program_header_size, sections, section_size;
	uint64_t program_headers_at, sections_at;
};

#define TAKE_HEADER(e, is_narrow)                                                                                       \
	((struct headers){is_narrow, (e)->e_type, (e)->e_phnum, (e)->e_phentsize, (e)->e_shnum, (e)->e_shentsize, (e)->e_phoff, (e)->e_shoff})

static int take_header(int fd, struct headers *ret)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} e = {};
	ssize_t n = pread(fd, &e, sizeof(e), 0);

	if (n < (ssize_t)sizeof(e.narrow) || memcmp(e.ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (e.ident[EI_DATA] != NATIVE_DATA)
		return -EBADMSG;
	if (e.ident[EI_CLASS] == ELFCLASS32)
		*ret = TAKE_HEADER(&e.narrow, true);
	else if (e.ident[EI_CLASS] == ELFCLASS64 && n == sizeof(e.wide))
		*ret = TAKE_HEADER(&e.wide, false);
	else
		return -EBADMSG;
	return 0;
}

static int read_header(int fd, struct headers *ret)
{
	struct stat st;
	uint64_t size;
	size_t one, section;
	int r = take_header(fd, ret);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	size = (uint64_t)st.st_size;
	one = ret->narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
	section = ret->narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
	if (ret->type != ET_EXEC && ret->type != ET_DYN)
		return -EBADMSG;
	if (!ret->program_headers || ret->program_headers > PROGRAM_HEADERS_MAX || ret->program_header_size != one ||
	    !lies_in(ret->program_headers_at, ret->program_headers * one, size))
		return -EBADMSG;
	if (!ret->sections_at)
		return 0;
	/* no sections, but a table of them: its length would stand in the table itself. No linker needs that below 65,280 */
	if (!ret->sections || ret->sections > SECTIONS_MAX || ret->section_size != section ||
	    !lies_in(ret->sections_at, ret->sections * section, size))
		return -EBADMSG;
	return 0;
}

static void widen(Elf64_Phdr *headers, unsigned n)
{
	Elf32_Phdr narrow[PROGRAM_HEADERS_MAX];

	memcpy(narrow, headers, n * sizeof(narrow[0]));
	for (unsigned i = 0; i < n; i++)
		headers[i] = (Elf64_Phdr){
			.p_type = narrow[i].p_type, .p_offset = narrow[i].p_offset, .p_filesz = narrow[i].p_filesz};
}

static int read_program_headers(int fd, const struct headers *e, Elf64_Phdr ret[PROGRAM_HEADERS_MAX])
{
	size_t n = (size_t)e->program_headers * e->program_header_size;

	if (pread(fd, ret, n, (off_t)e->program_headers_at) != (ssize_t)n)
		return -EBADMSG;
	if (e->narrow)
		widen(ret, e->program_headers);
	for (unsigned i = 0; i < e->program_headers; i++)
		if (ret[i].p_type == PT_NOTE && ret[i].p_filesz > NOTES_MAX)
			return -EBADMSG;
	return 0;
}

int elf_check(int fd)
{
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	struct headers e;
	int r = read_header(fd, &e);

	return r < 0 ? r : read_program_headers(fd, &e, headers);
}

/* Notes are a header of three words, a name and a description, each padded to 4 bytes: "GNU", type 3. */
static bool find_build_id(const uint8_t *notes, size_t n, struct build_id *ret)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		size_t name, description;
		Elf64_Nhdr h;

		memcpy(&h, notes, sizeof(h));
		if (h.n_namesz > NOTES_MAX || h.n_descsz > NOTES_MAX)
			return false;
		name = (h.n_namesz + 3u) & ~3u;
		description = (h.n_descsz + 3u) & ~3u;
		if (sizeof(h) + name + h.n_descsz > n)
			return false;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(notes + sizeof(h), "GNU", 4) == 0 && h.n_descsz &&
		    h.n_descsz <= BUILD_ID_MAX) {
			ret->size = (uint8_t)h.n_descsz;
			memcpy(ret->bytes, notes + sizeof(h) + name, h.n_descsz);
			return true;
		}
		if (sizeof(h) + name + description > n)
			return false;
		notes += sizeof(h) + name + description;
		n -= sizeof(h) + name + description;
	}
	return false;
}

int elf_build_id_read(int fd, struct build_id *ret)
{
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	uint8_t notes[4096]; /* a build-id that lies further back is none that a linker wrote */
	struct headers e;
	int r = read_header(fd, &e);

	r = r ?: read_program_headers(fd, &e, headers);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < e.program_headers; i++) {
		size_t size = headers[i].p_filesz < sizeof(notes) ? headers[i].p_filesz : sizeof(notes);
		ssize_t n = headers[i].p_type == PT_NOTE ? pread(fd, notes, size, (off_t)headers[i].p_offset) : 0;

		if (n > 0 && find_build_id(notes, (size_t)n, ret))
			return 0;
	}
	return -ENOENT;
}
