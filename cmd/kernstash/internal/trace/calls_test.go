//go:build linux && (amd64 || arm64)

package trace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/trace"
	"github.com/kernstash/kernstash/internal/needs"
)

const (
	opened   = trace.Opened | trace.Looked
	looked   = trace.Looked
	executed = trace.Executed | trace.Looked
	listed   = trace.Listed
	written  = trace.Written
)

// compiled returns a program of C.
func compiled(t *testing.T, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command(needs.Tool(t, "cc", "gcc"), "-D_GNU_SOURCE", "-w", "-pthread", "-x", "c", "-o", program, "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return program
}

// A use of a file is recorded by each system call that makes it. The programs run where there are
// file, dir/inner, link, which leads to dir, and script.
var callTests = []struct {
	name, code string
	files      map[string]trace.Use
	unclear    string // a regular expression
	only       string // the instruction set that has the call
}{
	{name: "open", code: `S(open, "file", O_RDONLY);`, files: uses{"file": opened}, only: "amd64"},
	{name: "open absent", code: `S(open, "absent", O_RDONLY);`, files: uses{"absent": opened}, only: "amd64"},
	{name: "creat", code: `S(creat, "new", 0600);`, files: uses{"new": looked | written}, only: "amd64"},
	{name: "openat", code: `S(openat, AT_FDCWD, "file", O_RDONLY);`, files: uses{"file": opened}},
	{name: "openat to write", code: `S(openat, AT_FDCWD, "file", O_WRONLY);`, files: uses{"file": looked | written}},
	{name: "openat for both", code: `S(openat, AT_FDCWD, "file", O_RDWR);`, files: uses{"file": opened | written}},
	{name: "openat O_CREAT", code: `S(openat, AT_FDCWD, "new", O_RDONLY | O_CREAT, 0600);`, files: uses{"new": opened | written}},
	{name: "openat O_TRUNC", code: `S(openat, AT_FDCWD, "file", O_WRONLY | O_CREAT | O_TRUNC, 0600);`, files: uses{"file": looked | written}},
	{name: "openat O_DIRECTORY", code: `S(openat, AT_FDCWD, "dir", O_RDONLY | O_DIRECTORY);`, files: uses{"dir": looked | listed}},
	{name: "openat O_PATH", code: `S(openat, AT_FDCWD, "dir", O_PATH | O_DIRECTORY);`, files: uses{"dir": looked}},
	{name: "openat O_TMPFILE", code: `S(openat, AT_FDCWD, "dir", O_TMPFILE | O_RDWR, 0600);`, files: uses{"dir": looked}},
	{name: "openat below a descriptor", code: `S(openat, open("dir", O_PATH), "inner", O_RDONLY);`, files: uses{"dir": looked, "dir/inner": opened}},
	{name: "openat of no descriptor", code: `S(openat, 77, "inner", O_RDONLY);`},
	{name: "openat absolute", code: `S(openat, 77, "/absent//a/./b/", O_RDONLY);`, files: uses{"/absent/a/b": opened}},
	{name: "openat NULL", code: `S(openat, AT_FDCWD, NULL, O_RDONLY);`},
	{name: "openat of no address", code: `S(openat, AT_FDCWD, 1L, O_RDONLY);`, unclear: "reading the path: bad address"},
	{name: "openat too long", code: `char b[5000]; memset(b, 'a', 4999); b[4999] = 0; S(openat, AT_FDCWD, b, O_RDONLY);`},
	{name: "openat ..", code: `S(openat, AT_FDCWD, "link/../file", O_RDONLY);`, files: uses{"link/../file": opened}},
	{name: "openat at the end of a page", code: `
		long n = sysconf(_SC_PAGESIZE); char *p = mmap(0, 2 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p + n, n); S(openat, AT_FDCWD, strcpy(p + n - 5, "file"), O_RDONLY);`, files: uses{"file": opened}},
	{name: "openat across pages", code: `
		long n = sysconf(_SC_PAGESIZE); char *p = mmap(0, 2 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		S(openat, AT_FDCWD, strcpy(p + n - 2, "dir/inner"), O_RDONLY);`, files: uses{"dir/inner": opened}},
	{
		name: "openat long", code: `
		char b[3000] = ""; while (strlen(b) < 2980) strcat(b, "./dir/../"); strcat(b, "file"); S(openat, AT_FDCWD, b, O_RDONLY);`,
		files: uses{strings.Repeat("dir/../", 332) + "file": opened},
	},
	{name: "openat2", code: `struct { long flags, mode, resolve; } how = {O_RDONLY}; S(437, AT_FDCWD, "file", &how, sizeof how);`, files: uses{"file": opened}},
	{name: "openat2 in a root", code: `struct { long flags, mode, resolve; } how = {O_RDONLY, 0, 16}; S(437, AT_FDCWD, "/file", &how, sizeof how);`, unclear: "a root of its own"},
	{name: "fopen", code: `fopen("file", "r");`, files: uses{"file": opened}},
	{name: "opendir", code: `readdir(opendir("dir"));`, files: uses{"dir": looked | listed}},
	{name: "getdents64", code: `char b[999]; S(getdents64, open("dir", O_RDONLY), b, sizeof b);`, files: uses{"dir": opened | listed}},
	{name: "getdents64 through a link", code: `char b[999]; S(getdents64, open("link", O_RDONLY), b, sizeof b);`, files: uses{"link": opened, "dir": listed}},
	{name: "stat", code: `struct stat s; S(stat, "file", &s);`, files: uses{"file": looked}, only: "amd64"},
	{name: "lstat", code: `struct stat s; S(lstat, "link", &s);`, files: uses{"link": looked}, only: "amd64"},
	{name: "fstatat", code: `struct stat s; fstatat(AT_FDCWD, "absent", &s, 0);`, files: uses{"absent": looked}},
	{name: "fstatat of a descriptor", code: `struct stat s; fstatat(open("file", O_RDONLY), "", &s, AT_EMPTY_PATH);`, files: uses{"file": opened}},
	{name: "fstat", code: `struct stat s; fstat(open("file", O_RDONLY), &s);`, files: uses{"file": opened}},
	{name: "statx", code: `char b[999]; S(statx, AT_FDCWD, "file", 0, 0, b);`, files: uses{"file": looked}},
	{name: "access", code: `S(access, "file", R_OK);`, files: uses{"file": looked}, only: "amd64"},
	{name: "faccessat", code: `S(faccessat, AT_FDCWD, "absent", R_OK);`, files: uses{"absent": looked}},
	{name: "faccessat2", code: `S(439, AT_FDCWD, "absent", R_OK, 0);`, files: uses{"absent": looked}},
	{name: "readlink", code: `char b[99]; S(readlink, "link", b, 99);`, files: uses{"link": looked}, only: "amd64"},
	{name: "readlinkat", code: `char b[99]; S(readlinkat, open("dir", O_PATH), "inner", b, 99);`, files: uses{"dir": looked, "dir/inner": looked}},
	{name: "readlink of a descriptor", code: `char b[99]; S(readlinkat, AT_FDCWD, "/proc/self/fd/0", b, 99);`, files: uses{"/proc/self/fd/0": looked}},
	{name: "realpath", code: `realpath("dir/inner", 0);`, files: uses{".": looked, "dir": looked, "dir/inner": looked}},
	{name: "statfs", code: `char b[999]; S(statfs, "file", b);`, files: uses{"file": looked}},
	{name: "getxattr", code: `S(getxattr, "file", "user.x", 0, 0L);`, files: uses{"file": looked}},
	{name: "lgetxattr", code: `S(lgetxattr, "file", "user.x", 0, 0L);`, files: uses{"file": looked}},
	{name: "listxattr", code: `S(listxattr, "file", 0, 0L);`, files: uses{"file": looked}},
	{name: "llistxattr", code: `S(llistxattr, "file", 0, 0L);`, files: uses{"file": looked}},
	{name: "inotify_add_watch", code: `inotify_add_watch(inotify_init(), "file", IN_MODIFY);`, files: uses{"file": looked}},
	{name: "name_to_handle_at", code: `int b[99] = {128}, m; S(name_to_handle_at, AT_FDCWD, "file", b, &m, 0);`, files: uses{"file": looked}},
	{name: "open_by_handle_at", code: `S(open_by_handle_at, 0, 0, 0);`, unclear: "open_by_handle_at"},
	{name: "chdir", code: `chdir("dir"); open("inner", O_RDONLY);`, files: uses{"dir": looked, "dir/inner": opened}},
	{name: "chdir through a link", code: `chdir("link"); open("inner", O_RDONLY);`, files: uses{"link": looked, "dir/inner": opened}},
	{name: "fchdir", code: `fchdir(open("dir", O_PATH)); open("inner", O_RDONLY);`, files: uses{"dir": looked, "dir/inner": opened}},
	{name: "chdir of a thread", code: `pthread_t t; pthread_create(&t, 0, changes, 0); pthread_join(t, 0); open("inner", O_RDONLY);`, files: uses{"dir": looked, "dir/inner": opened}},
	{
		name: "chdir of a child", code: `if (!fork()) { chdir("dir"); open("inner", O_RDONLY); _exit(0); } wait(0); open("file", O_RDONLY);`,
		files: uses{"dir": looked, "dir/inner": opened, "file": opened},
	},
	{
		name: "chdir of a vfork child", code: `if (!vfork()) { chdir("dir"); execl("./inner", "x", NULL); _exit(0); } wait(0); open("file", O_RDONLY);`,
		files: uses{"dir": looked, "dir/inner": executed, "file": opened},
	},
	{name: "a directory that is gone", code: `mkdir("d", 0700); chdir("d"); rmdir("../d"); open("file", O_RDONLY);`, files: uses{"d": looked | written, "d/../d": written}, unclear: "deleted"},
	{name: "getcwd", code: `char b[999]; S(getcwd, b, 999L);`, files: uses{".": looked}},
	{name: "execve", code: `char *a[] = {"x", 0}; S(execve, "/bin/true", a, a + 1);`, files: uses{"/bin/true": executed}},
	{name: "execve absent", code: `char *a[] = {"x", 0}; S(execve, "absent", a, a + 1);`, files: uses{"absent": executed}},
	{name: "execve of a script", code: `char *a[] = {"x", 0}; S(execve, "./script", a, a + 1);`, files: uses{"script": executed, "inter": executed | opened, "/bin/sh": executed, ".": looked}},
	{name: "execveat", code: `char *a[] = {"x", 0}; S(execveat, open("/bin", O_PATH), "true", a, a + 1, 0);`, files: uses{"/usr/bin/true": executed}},
	{name: "fexecve", code: `char *a[] = {"x", 0}; fexecve(open("/bin/true", O_PATH), a, a + 1);`, files: uses{"/bin/true": looked, "/usr/bin/true": executed}},
	{name: "execveat of memory", code: `char *a[] = {"x", 0}; S(execveat, memfd_create("m", 0), "", a, a + 1, AT_EMPTY_PATH);`, unclear: "memfd:m"},
	{name: "posix_spawn", code: `char *a[] = {"true", 0}; int p; posix_spawnp(&p, "true", 0, 0, a, a + 1); wait(0);`, files: uses{"/bin/true": executed}},
	{name: "set-user-ID", code: `chmod("script", 04755); execl("./script", "x", NULL);`, files: uses{"script": executed | written, "inter": executed | opened, "/bin/sh": executed, ".": looked}, unclear: "changes the user"},
	{name: "mkdir", code: `mkdir("new", 0700);`, files: uses{"new": written}},
	{name: "mkdirat", code: `mkdirat(open("dir", O_PATH), "new/", 0700);`, files: uses{"dir": looked, "dir/new": written}},
	{name: "rmdir", code: `rmdir("dir");`, files: uses{"dir": written}},
	{name: "mknod", code: `mknod("new", S_IFIFO | 0600, 0);`, files: uses{"new": written}},
	{name: "mknodat", code: `mknodat(AT_FDCWD, "new", S_IFIFO | 0600, 0);`, files: uses{"new": written}},
	{name: "unlink", code: `unlink("file");`, files: uses{"file": written}},
	{name: "unlinkat", code: `unlinkat(open("dir", O_PATH), "inner", 0);`, files: uses{"dir": looked, "dir/inner": written}},
	{name: "symlink", code: `symlink("file", "new");`, files: uses{"new": written}},
	{name: "symlinkat", code: `symlinkat("file", open("dir", O_PATH), "new");`, files: uses{"dir": looked, "dir/new": written}},
	{name: "link", code: `link("file", "new");`, files: uses{"file": opened | written, "new": written}},
	{name: "linkat", code: `linkat(AT_FDCWD, "file", open("dir", O_PATH), "new", 0);`, files: uses{"dir": looked, "file": opened | written, "dir/new": written}},
	{name: "linkat of a descriptor", code: `linkat(open("file", O_RDONLY), "", AT_FDCWD, "new", AT_EMPTY_PATH);`, files: uses{"file": opened | written, "new": written}},
	{name: "linkat of O_TMPFILE", code: `linkat(open("dir", O_TMPFILE | O_RDWR, 0600), "", AT_FDCWD, "new", AT_EMPTY_PATH);`, files: uses{"dir": looked, "new": written}},
	{name: "rename", code: `rename("file", "new");`, files: uses{"file": written, "new": written}},
	{name: "renameat", code: `renameat(AT_FDCWD, "file", open("dir", O_PATH), "new");`, files: uses{"dir": looked, "file": written, "dir/new": written}},
	{name: "renameat2", code: `S(renameat2, AT_FDCWD, "file", AT_FDCWD, "dir", RENAME_EXCHANGE);`, files: uses{"file": written, "dir": written}},
	{name: "truncate", code: `truncate("file", 0);`, files: uses{"file": written}},
	{name: "chmod", code: `chmod("file", 0600);`, files: uses{"file": written}},
	{name: "fchmod", code: `fchmod(open("file", O_RDONLY), 0600);`, files: uses{"file": opened | written}},
	{name: "fchmodat", code: `fchmodat(AT_FDCWD, "file", 0600, 0);`, files: uses{"file": written}},
	{name: "fchmodat2", code: `S(452, AT_FDCWD, "file", 0600, 0);`, files: uses{"file": written}},
	{name: "chown", code: `chown("file", -1, -1);`, files: uses{"file": written}},
	{name: "lchown", code: `lchown("file", -1, -1);`, files: uses{"file": written}},
	{name: "fchown", code: `fchown(open("file", O_RDONLY), -1, -1);`, files: uses{"file": opened | written}},
	{name: "fchownat", code: `fchownat(AT_FDCWD, "file", -1, -1, 0);`, files: uses{"file": written}},
	{name: "utime", code: `S(utime, "file", 0);`, files: uses{"file": written}, only: "amd64"},
	{name: "utimes", code: `utimes("file", 0);`, files: uses{"file": written}},
	{name: "futimesat", code: `S(futimesat, AT_FDCWD, "file", 0);`, files: uses{"file": written}, only: "amd64"},
	{name: "utimensat", code: `utimensat(AT_FDCWD, "file", 0, 0);`, files: uses{"file": written}},
	{name: "futimens", code: `futimens(open("file", O_RDONLY), 0);`, files: uses{"file": opened | written}},
	{name: "setxattr", code: `setxattr("file", "user.x", "x", 1, 0);`, files: uses{"file": written}},
	{name: "lsetxattr", code: `lsetxattr("file", "user.x", "x", 1, 0);`, files: uses{"file": written}},
	{name: "fsetxattr", code: `fsetxattr(open("file", O_RDONLY), "user.x", "x", 1, 0);`, files: uses{"file": opened | written}},
	{name: "removexattr", code: `removexattr("file", "user.x");`, files: uses{"file": written}},
	{name: "lremovexattr", code: `lremovexattr("file", "user.x");`, files: uses{"file": written}},
	{name: "fremovexattr", code: `fremovexattr(open("file", O_RDONLY), "user.x");`, files: uses{"file": opened | written}},
	{
		name: "newer calls", code: `S(464, AT_FDCWD, "a", 0, "user.x", 0, 0L); S(465, AT_FDCWD, "b", 0, 0, 0L); S(463, AT_FDCWD, "c", 0, "user.x", 0, 0L);
		S(466, AT_FDCWD, "d", 0, "user.x"); S(468, AT_FDCWD, "e", 0, 0L, 0); S(469, AT_FDCWD, "f", 0, 0L, 0);`,
		files: uses{"a": looked, "b": looked, "c": written, "d": written, "e": looked, "f": written},
	},
	{name: "handlers", code: handles("SIGALRM", "SA_RESTART") + handles("SIGCHLD", "SA_RESTART") + handles("SIGTERM", "0"), files: uses{"file": opened}},
	{name: "a handler that interrupts", code: handles("SIGALRM", "0"), files: uses{"file": opened}, unclear: "signal 14 may interrupt a call"},
	{name: "a handler of the end of children", code: handles("SIGCHLD", "0") + `if (!fork()) { open("file", O_RDONLY); _exit(0); } wait(0);`, files: uses{"file": opened}},
	{name: "a handler of the end of a child", code: `if (!fork()) pause();` + handles("SIGCHLD", "0") + `kill(0, SIGKILL);`, files: uses{"file": opened}, unclear: "SIGCHLD may interrupt a call"},
	{name: "a pipe", code: `int p[2]; pipe(p); fchmod(p[0], 0600); struct stat s; fstat(p[0], &s);`},
	{name: "chroot", code: `chroot("dir");`, unclear: "it calls chroot"},
	{name: "mount", code: `mount("absent", "absent", "absent", 0, 0);`, unclear: "it calls mount"},
	{name: "io_uring_setup", code: `S(425, 1, 0);`, unclear: "it calls io_uring_setup"},
	{name: "ptrace", code: `ptrace(PTRACE_TRACEME);`, unclear: "it calls ptrace"},
	{name: "a call of the future", code: `S(9999);`, unclear: "system call 9999, which is not known"},
	{name: "a call of 32 bits", code: `
		#ifdef __x86_64__
		int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20));
		#endif`, unclear: "of another instruction set", only: "amd64"},
	{name: "a socket", code: `socket(AF_INET, SOCK_STREAM, 0);`, unclear: "it calls socket"},
	{name: "a socket of this machine", code: `socket(AF_UNIX, SOCK_STREAM, 0); int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p);`},
	{name: "connect in vain", code: connects("absent/socket"), files: uses{"absent/socket": looked}},
	{name: "connect", code: connects("file"), files: uses{"file": looked}, unclear: "it connects to .*/file$"},
	{name: "connect to no file", code: connects(""), unclear: "it calls connect"},
	{name: "bind", code: strings.Replace(connects("new"), "connect", "bind", 1), unclear: "it calls bind"},
	{
		name: "a file with a strange name", code: `rename("file", "x (deleted)"); fchmod(open("x (deleted)", O_RDONLY), 0600);`,
		files: uses{"file": written, "x (deleted)": opened | written},
	},
	{name: "a file that is gone", code: `int fd = open("file", O_RDONLY); unlink("file"); fchmod(fd, 0600);`, files: uses{"file": opened | written}},
	{name: "a process's own files", code: `openat(open("/proc/self", O_PATH), "status", O_RDONLY);`, files: uses{"/proc/self": looked, "/proc/self/status": opened}},
}

func handles(signal, flags string) string {
	return fmt.Sprintf(`{ struct sigaction a = {.sa_handler = handler, .sa_flags = %s}; sigaction(%s, &a, 0); open("file", O_RDONLY); }`, flags, signal)
}

func connects(path string) string {
	return fmt.Sprintf(`struct sockaddr_un a = {AF_UNIX, "%s"}; connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a);`, path)
}

// uses are files with what is done with them; the program itself runs in their directory.
type uses = map[string]trace.Use

func TestSystemCalls(t *testing.T) {
	t.Parallel()
	needTracing(t)
	var source strings.Builder
	for _, header := range []string{
		"fcntl", "pthread", "signal", "spawn", "stdio", "stdlib", "string", "sys/inotify", "sys/mman", "sys/mount", "sys/ptrace", "sys/socket",
		"sys/stat", "sys/syscall", "sys/time", "sys/un", "sys/wait", "sys/xattr", "unistd",
	} {
		fmt.Fprintf(&source, "#include <%s.h>\n", header)
	}
	source.WriteString("#define S(call, ...) syscall(CALL_##call, ##__VA_ARGS__)\n")
	for _, tt := range callTests {
		for _, m := range regexp.MustCompile(`\bS\((\w+)`).FindAllStringSubmatch(tt.code, -1) {
			name := m[1]
			number := "SYS_" + name
			if strings.Trim(name, "0123456789") == "" {
				number = name
			}
			fmt.Fprintf(&source, "#undef CALL_%[1]s\n#define CALL_%[1]s %[2]s\n", name, number)
		}
	}
	source.WriteString("static void *changes(void *arg) { chdir(\"dir\"); return 0; }\nstatic void handler(int n) {}\n")
	source.WriteString("int main(int argc, char **argv) {\nswitch (atoi(argv[1])) {\n")
	for i, tt := range callTests {
		if tt.only == "" || tt.only == architecture {
			fmt.Fprintf(&source, "case %d: {\n%s\n} break;\n", i, tt.code)
		}
	}
	source.WriteString("}\nreturn 0;\n}\n")
	program := compiled(t, source.String())
	for i, tt := range callTests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			if tt.only != "" && tt.only != architecture {
				t.Skip("NOT RUN: the call is one of " + tt.only)
			}
			t.Parallel()
			dir := realDir(t)
			if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("dir", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "file"), "text")
			write(t, filepath.Join(dir, "dir/inner"), "text")
			write(t, filepath.Join(dir, "inter"), "#!/bin/sh\n")
			write(t, filepath.Join(dir, "script"), "#! ./inter -x\n")
			cmd := command(t, dir, program, fmt.Sprint(i))
			cmd.Env, cmd.SysProcAttr = []string{"PATH=/bin"}, &syscall.SysProcAttr{Setpgid: true}
			r, _ := trace.Run(cmd)
			if r == nil {
				t.Fatal("no record")
			}
			got, want := make(uses), make(uses)
			for path, use := range tt.files {
				if path == "." {
					path = dir
				} else if !strings.HasPrefix(path, "/") {
					path = dir + "/" + path
				}
				want[path] |= use
			}
			for _, f := range r.Files {
				if _, ok := want[f.Path]; ok || strings.HasPrefix(f.Path, dir) {
					got[f.Path] = f.Uses
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("wanted (-), recorded (+):\n%s", diff)
			}
			if (tt.unclear == "") != (r.Unclear == "") || !regexp.MustCompile(tt.unclear).MatchString(r.Unclear) {
				t.Errorf("unclear: %q", r.Unclear)
			}
		})
	}
}
