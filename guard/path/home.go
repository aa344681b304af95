package path

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
)

// Home is the home directory of the user with this number, by /etc/passwd
// (passwd(5)). It is not ok if the file has no line for it or cannot be read,
// or the home in it is not absolute. Users that other services know (LDAP,
// systemd-userdb) are not found.
func Home(uid int) (home string, ok bool) {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return "", false
	}
	defer f.Close()
	return homeIn(f, uid)
}

// homeIn reads lines of name:password:uid:gid:gecos:home:shell. The first line
// of a user counts, as for getpwuid(3).
func homeIn(r io.Reader, uid int) (string, bool) {
	want := strconv.Itoa(uid)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		field := strings.Split(lines.Text(), ":")
		if len(field) < 7 || field[2] != want {
			continue
		}
		if !strings.HasPrefix(field[5], "/") {
			return "", false
		}
		return Clean("/", field[5]), true
	}
	return "", false
}
