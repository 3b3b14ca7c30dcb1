package sweep

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"orrery/internal/disk"
)

// Finding is what one test of a file system came to.
type Finding struct {
	Test    string
	Verdict FindingVerdict
	Found   string
	Why     string // what a study needs it for
}

// FindingVerdict is how a test ended.
type FindingVerdict string

// The verdicts. A study needs that none fails.
const (
	FindingGood FindingVerdict = "good"
	FindingSlow FindingVerdict = "slow"
	FindingBad  FindingVerdict = "BAD"
)

// Examination says what to test.
type Examination struct {
	Dir string // an existing folder on the file system in question
	// Peer is the command line of a second process that calls AnswerExamination
	// with the folder that is appended to it. It may run on another machine, as
	// with ssh in front.
	Peer []string
	// Lease is that of the study; verdicts on clocks and delays are by it. 0
	// is a minute.
	Lease time.Duration
}

// races is how many names both processes try to make, each.
const races = 300

// Examine tests whether the file system keeps what a study relies on, in a
// folder of its own under Dir that it removes. An error means that the tests
// could not be made at all.
func Examine(ctx context.Context, x Examination) (findings []Finding, err error) {
	if x.Lease == 0 {
		x.Lease = defaultLease
	}
	dir, err := os.MkdirTemp(x.Dir, ".doctor-*")
	if err != nil {
		return nil, fmt.Errorf("testing %s: %w", x.Dir, err)
	}
	defer func() {
		if rerr := os.RemoveAll(dir); err == nil && rerr != nil {
			err = fmt.Errorf("testing %s: %w", x.Dir, rerr)
		}
	}()
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("testing %s: %w", x.Dir, err)
	}
	for _, test := range []func(string, time.Duration) Finding{examineCreate, examineLink, examineSync, examineRename, examineClock, examineTouch} {
		if ctx.Err() != nil {
			return findings, ctx.Err()
		}
		findings = append(findings, test(dir, x.Lease))
	}
	if len(x.Peer) > 0 {
		findings = append(findings, examineTogether(ctx, dir, x)...)
	}
	return findings, nil
}

// finding makes a verdict of an error: nil is good.
func finding(test, why string, err error, found string, args ...any) Finding {
	if err != nil {
		return Finding{test, FindingBad, err.Error(), why}
	}
	return Finding{test, FindingGood, fmt.Sprintf(found, args...), why}
}

func examineCreate(dir string, _ time.Duration) Finding {
	path := filepath.Join(dir, "created")
	create := func() error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	}
	err := create()
	if err == nil {
		if again := create(); !errors.Is(again, os.ErrExist) {
			err = errors.Join(errors.New("a second create was not refused as one"), again)
		}
	}
	return finding("exclusive create", "one worker claims a task", err, "the second is refused")
}

func examineLink(dir string, _ time.Duration) Finding {
	a, b, target := filepath.Join(dir, "link-a"), filepath.Join(dir, "link-b"), filepath.Join(dir, "linked")
	err := errors.Join(os.WriteFile(a, []byte("a"), 0o600), os.WriteFile(b, []byte("b"), 0o600))
	if err == nil {
		err = os.Link(a, target)
	}
	if err == nil {
		if again := os.Link(b, target); !errors.Is(again, os.ErrExist) {
			err = errors.Join(errors.New("a second link was not refused as one"), again)
		}
	}
	if err == nil {
		one, first := os.Stat(a)
		two, second := os.Stat(target)
		if err = errors.Join(first, second); err == nil && !os.SameFile(one, two) {
			err = errors.New("both names of one file look like two files")
		}
	}
	return finding("hard link", "the first result stays", err, "the second is refused")
}

func examineSync(dir string, _ time.Duration) Finding {
	const n = 20
	began := time.Now()
	var err error
	for i := range n {
		if err = disk.WriteFile(filepath.Join(dir, fmt.Sprintf("synced-%d", i)), make([]byte, 2048)); err != nil {
			break
		}
	}
	each := time.Since(began) / n
	f := finding("fsync", "a committed result survives a power cut", err, "%v each", each.Round(10*time.Microsecond))
	if f.Verdict == FindingGood && each > 100*time.Millisecond {
		f.Verdict = FindingSlow
	}
	return f
}

func examineRename(dir string, _ time.Duration) Finding {
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	err := errors.Join(os.WriteFile(from, []byte("new"), 0o600), os.WriteFile(to, []byte("old"), 0o600))
	if err == nil {
		err = os.Rename(from, to)
	}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(to); err == nil && string(text) != "new" {
			err = fmt.Errorf("found %q behind the name, want the new content", text)
		}
	}
	return finding("rename over a file", "documents of runs are replaced whole", err, "the new content is there")
}

// examineClock compares the clock of the file system with this machine's. The
// study uses the former alone, so a difference is only worth knowing.
func examineClock(dir string, lease time.Duration) Finding {
	path := filepath.Join(dir, "clock")
	before := time.Now()
	err := os.WriteFile(path, []byte("."), 0o600)
	var skew time.Duration
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(path); err == nil {
			skew = info.ModTime().Sub(before)
		}
	}
	f := finding("clock of the file system", "leases are judged by it", err, "%v from this machine's", skew.Round(time.Millisecond))
	if f.Verdict == FindingGood && skew.Abs() > lease {
		f.Found += "; leases hold all the same, but times in journals do not compare"
	}
	return f
}

func examineTouch(dir string, lease time.Duration) Finding {
	path := filepath.Join(dir, "touched")
	moved := func() (bool, error) {
		before, err := os.Stat(path)
		if err != nil {
			return false, err
		}
		time.Sleep(20 * time.Millisecond)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.Write([]byte{'.'})
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return false, err
		}
		after, err := os.Stat(path)
		return err == nil && after.ModTime().After(before.ModTime()), err
	}
	err := os.WriteFile(path, nil, 0o600)
	for began := time.Now(); err == nil; {
		var yes bool
		if yes, err = moved(); yes {
			return finding("time of change", "heartbeats of workers", nil, "moves within %v", time.Since(began).Round(time.Millisecond))
		}
		if time.Since(began) > lease/4 {
			err = fmt.Errorf("an append did not move it in %v, a quarter of the lease", lease/4)
		}
	}
	return finding("time of change", "heartbeats of workers", err, "")
}

// examineTogether has a second process try for the same names.
func examineTogether(ctx context.Context, dir string, x Examination) []Finding {
	const test, why = "two processes", "workers know each other by files alone"
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, x.Peer[0], append(x.Peer[1:], dir)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return []Finding{finding(test, why, err, "")}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return []Finding{finding(test, why, err, "")}
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return []Finding{finding(test, why, fmt.Errorf("starting the second process: %w", err), "")}
	}
	host, findings, err := talk(dir, x.Lease, in, bufio.NewReader(out))
	_ = in.Close() // the peer ends, if it has not
	if werr := cmd.Wait(); err == nil && werr != nil {
		err = fmt.Errorf("the second process ended by %w", werr)
	}
	return append([]Finding{finding(test, why, err, "the other runs on %s", host)}, findings...)
}

// talk leads the conversation: the peer answers each line with one line.
func talk(dir string, lease time.Duration, in io.Writer, out *bufio.Reader) (host string, findings []Finding, err error) {
	request := func(line string) (string, error) {
		if _, err := fmt.Fprintln(in, line); err != nil {
			return "", err
		}
		answer, err := out.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("no answer to %q: %w", line, err)
		}
		return strings.TrimSpace(answer), nil
	}
	if host, err = request("hello"); err != nil {
		return host, nil, err
	}
	for _, kind := range []string{"create", "link"} {
		f, err := race(dir, kind, in, out)
		if err != nil {
			return host, findings, err
		}
		findings = append(findings, f)
	}
	const test, why = "what one writes the other sees", "a claim is taken over only when its worker is gone"
	if _, err := request("look"); err != nil { // so that "no such file" is in the other machine's cache
		return host, findings, err
	}
	if err := os.WriteFile(filepath.Join(dir, "seen"), []byte("."), 0o600); err != nil {
		return host, findings, err
	}
	answer, err := request("see " + lease.String())
	if err != nil {
		return host, findings, err
	}
	delay, no := time.ParseDuration(answer) // anything else says that it saw nothing
	f := finding(test, why, nil, "after %v", delay.Round(time.Millisecond))
	if no != nil {
		f.Verdict, f.Found = FindingBad, answer
	} else if delay > lease/4 {
		f.Verdict, f.Found = FindingBad, f.Found+fmt.Sprintf(": more than a quarter of the lease of %v", lease)
	}
	return host, append(findings, f), nil
}

// race tries for the names from the first to the last while the peer does so
// too, and counts the names each got.
func race(dir, kind string, in io.Writer, out *bufio.Reader) (Finding, error) {
	test, why := "race by "+kind, map[string]string{"create": "a task is claimed once", "link": "a result is committed once"}[kind]
	if _, err := fmt.Fprintln(in, kind); err != nil {
		return Finding{}, err
	}
	mine, err := tryNames(dir, kind, "lead")
	if err != nil {
		return finding(test, why, err, ""), nil
	}
	answer, err := out.ReadString('\n')
	if err != nil {
		return Finding{}, fmt.Errorf("no answer to %q: %w", kind, err)
	}
	theirs := map[string]bool{}
	for _, name := range strings.Fields(answer) {
		theirs[name] = true
	}
	both, none := 0, 0
	for i := range races {
		name := fmt.Sprint(i)
		switch {
		case mine[name] && theirs[name]:
			both++
		case !mine[name] && !theirs[name]:
			none++
		}
	}
	if both+none > 0 {
		return finding(test, why, fmt.Errorf("of %d names %d went to both processes and %d to none", races, both, none), ""), nil
	}
	return finding(test, why, nil, "%d names, %d and %d: each to exactly one", races, len(mine), len(theirs)), nil
}

// tryNames makes as many of the names as it can.
func tryNames(dir, kind, reporter string) (got map[string]bool, err error) {
	got = map[string]bool{}
	source := filepath.Join(dir, kind+"-source-"+reporter)
	if err := os.WriteFile(source, []byte(reporter), 0o600); err != nil {
		return nil, err
	}
	for i := range races {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d", kind, i))
		if kind == "link" {
			err = os.Link(source, path)
		} else {
			var f *os.File
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
				err = f.Close()
			}
		}
		if err == nil {
			got[fmt.Sprint(i)] = true
		} else if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		time.Sleep(50 * time.Microsecond) // so that both are at it
	}
	return got, nil
}

// AnswerExamination is the second process of Examine: it does what the lines of
// in ask for in the folder dir, until they end.
func AnswerExamination(dir string, in io.Reader, out io.Writer) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer := ""
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "hello":
			answer = here().Host
		case "create", "link":
			got, err := tryNames(dir, word, "peer")
			if err != nil {
				return fmt.Errorf("testing %s: %w", dir, err)
			}
			for i := range races {
				if name := fmt.Sprint(i); got[name] {
					answer += name + " "
				}
			}
		case "look":
			_, err := os.Stat(filepath.Join(dir, "seen"))
			answer = fmt.Sprint(err)
		case "see":
			answer = seen(dir, rest)
		default:
			return fmt.Errorf("testing %s: found the question %q, which only another release asks", dir, word)
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return nil
}

// seen waits for the file that the other process has written.
func seen(dir, lease string) string {
	limit, err := time.ParseDuration(lease)
	if err != nil {
		return err.Error()
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(dir, "seen")); err == nil && len(text) > 0 {
			return time.Since(began).String()
		}
		if time.Since(began) > limit {
			return fmt.Sprintf("not within the lease of %v", limit)
		}
	}
}
