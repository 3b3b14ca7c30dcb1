package sweep

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// remoteWorkers are workers in other processes, of which only the study tells how
// far they are.
type remoteWorkers struct {
	study *Study
	poll  time.Duration
	log   io.Writer
	// tend looks after the workers and starts new ones for those that were
	// lost. open is how many claims are not done. An error means that it is of
	// no use to go on.
	tend func(ctx context.Context, open int) error
	stop func(complete bool) error
}

// openClaims counts the chunks that are not done, also those of specs that were
// added a moment ago.
func (s *Study) openClaims() (int, error) {
	if err := s.Reload(); err != nil {
		return 0, err
	}
	marks, err := s.listClaims()
	if err != nil {
		return 0, err
	}
	open := 0
	for _, c := range s.chunkList() {
		if !marks.done[c.first] {
			open++
		}
	}
	return open, nil
}

// Wait looks at the study and at the workers in turn.
func (r *remoteWorkers) Wait(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		open, err := r.study.openClaims()
		if err != nil || open == 0 {
			return err
		}
		if err := r.tend(ctx, open); err != nil {
			return err
		}
		timer.Reset(r.poll)
	}
}

// Stop ends the workers that have not ended by themselves.
func (r *remoteWorkers) Stop() error {
	open, err := r.study.openClaims()
	if err != nil {
		return err
	}
	return r.stop(open == 0)
}

func (r *remoteWorkers) say(format string, args ...any) {
	if r.log != nil {
		fmt.Fprintf(r.log, format+"\n", args...)
	}
}

// patience stops restarts that bring nothing: after that many in a row between
// which no claim was done, the workers are taken to be broken.
const patience = 3

// restarts counts them.
type restarts struct{ withoutOutcome, open int }

// allowed says whether another restart makes sense, and counts it.
func (r *restarts) allowed(open int) bool {
	if open < r.open || r.open == 0 {
		r.withoutOutcome = 0
	}
	r.open = open
	r.withoutOutcome++
	return r.withoutOutcome <= patience
}

// lastWords quotes the end of the youngest log whose name has the prefix.
func (s *Study) lastWords(prefix string) string {
	found, err := s.root.Names(s.path(logDir))
	if err != nil {
		return ""
	}
	slices.Sort(found)
	var newest string
	var when time.Time
	for _, name := range found {
		path := s.path(logDir, name)
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if info, err := s.root.Lstat(path); err == nil && info.Size() > 0 && info.ModTime().After(when) {
			newest, when = path, info.ModTime()
		}
	}
	text, err := s.root.ReadFile(newest)
	if err != nil || len(text) == 0 {
		return "; they wrote nothing into " + s.path(logDir)
	}
	last := ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			last = line
		}
	}
	return fmt.Sprintf("; the last line of %s is: %s", newest, last)
}

// quoted is text as one word of a shell.
func quoted(text string) string {
	plain := text != ""
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_-./:=,+@%", r):
		default:
			plain = false
		}
	}
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// oneLine refuses words with a line feed, which would end the line of a script that they
// stand in, and with a zero byte, which no command can take.
func oneLine(what string, words ...string) error {
	for _, w := range words {
		if strings.ContainsAny(w, "\n\r\x00") {
			return &DataError{fmt.Sprintf("%q", w), what + " has a line break in it, which no script of workers can hold; name it without"}
		}
	}
	return nil
}

func quotedAll(words []string) string {
	quotedWords := make([]string, len(words))
	for i, w := range words {
		quotedWords[i] = quoted(w)
	}
	return strings.Join(quotedWords, " ")
}
