//go:build unix

package disk

import (
	"io/fs"
	"syscall"
)

// ownerOf is the number of the user that a file belongs to.
func ownerOf(st fs.FileInfo) (uid int, known bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
