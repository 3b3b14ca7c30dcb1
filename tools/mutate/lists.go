package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// readGiven reads the mutants that are always tried: a key a line, and lines that begin
// with # to explain them. A key that names none is an error, for the code has moved.
func readGiven(path string, all []*mutant) (out []*mutant, err error) {
	err = lines(path, func(line string) error {
		m := find(all, line)
		if m == nil {
			return fmt.Errorf("no mutant %q: the function has moved or changed; go run ./tools/mutate -list -n 100000 has them all", line)
		}
		out = append(out, m)
		return nil
	})
	return out, err
}

// readEquivalents reads keys, each followed by a tab and the reason why no test can
// notice.
func readEquivalents(path string, all []*mutant) (reasons map[string]string, err error) {
	reasons = map[string]string{}
	err = lines(path, func(line string) error {
		key, why, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(why) == "" {
			return fmt.Errorf("want a mutant, a tab and the reason, found %q", line)
		}
		if find(all, key) == nil {
			return fmt.Errorf("no mutant %q: the function has moved or changed; remove the line, or mend it", key)
		}
		reasons[key] = strings.TrimSpace(why)
		return nil
	})
	return reasons, err
}

// find is the mutant of a key, which ends in a blank where nothing is put in place of what is
// left out: lines of files do not.
func find(all []*mutant, key string) *mutant {
	for _, m := range all {
		if strings.TrimRight(m.key(), " ") == key {
			return m
		}
	}
	return nil
}

// lines hands out those of a file that are not empty and no remarks. A file that is not
// there has none.
func lines(path string, each func(string) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if line := strings.TrimRight(s.Text(), " "); line != "" && !strings.HasPrefix(line, "#") {
			if err := each(line); err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
	}
	return s.Err()
}
