package sweep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Slurm has long-lived workers run as the elements of a job array. Tasks are
// shared out by the study, never by Slurm, which takes 50 ms and more to start
// one and does not retry what fails. It needs sbatch, squeue and scancel, and
// the study on a file system that the nodes share.
type Slurm struct {
	// Workers is the number of array elements, from 1.
	Workers int
	// Command is the command line of a worker; it ends by itself, with status 0,
	// when the study is complete.
	Command []string
	// Options are further options of sbatch, such as --partition=short.
	Options []string
	// Keep is set when specs will be added while the workers run: Stop then
	// cancels them, which without it only happens before the study is complete.
	Keep bool
	// Poll is the time between two looks at the queue; 0 is 5 s.
	Poll time.Duration
	// Log gets one line on each submission and each trouble with Slurm; it may
	// be nil.
	Log io.Writer
}

// slurmWorkers are the array elements of one study.
type slurmWorkers struct {
	Slurm
	remoteWorkers
	name     string
	restarts restarts
	journal  *journal
	troubled bool // squeue did not answer at the last look
}

// slurmPoll is how often the controller is asked, which sites do not like to be
// more often than every few seconds.
const slurmPoll = 5 * time.Second

// Script is what Start submits for that many elements that work on the study in
// dir, which need not be there yet.
func (x Slurm) Script(dir string, elements int) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("naming the study: %w", err)
	}
	err = errors.Join(oneLine("the path of the study", dir), oneLine("the command line of a worker", x.Command...), oneLine("an option of sbatch", x.Options...))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	options := append([]string{
		"--job-name=" + slurmName(dir),
		fmt.Sprintf("--array=0-%d", elements-1),
		"--no-requeue", // a lost element is submitted anew, without Slurm's hold of two minutes
		"--open-mode=append",
		"--output=" + strings.ReplaceAll(filepath.Join(dir, logDir), "%", "%%") + "/slurm-%A_%a.out",
		"--signal=B:TERM@60", // a minute before the time limit the worker gives back what it has
	}, x.Options...)
	for _, option := range options {
		fmt.Fprintf(&b, "#SBATCH %s\n", quoted(option))
	}
	fmt.Fprintf(&b, "exec %s\n", quotedAll(x.Command))
	return b.String(), nil
}

// slurmName is the same for every process that looks after the study, so that
// workers are found again after a crash.
func slurmName(dir string) string {
	return fmt.Sprintf("orrery-%.8x", sha256.Sum256([]byte(dir)))
}

// Start submits the workers that are not in the queue already, from an earlier
// process that looked after this study.
func (x Slurm) Start(ctx context.Context, s *Study) (Workers, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	if x.Workers < 1 || len(x.Command) == 0 {
		return nil, fmt.Errorf("starting workers by Slurm: found %d workers and the command %q, want one or more and a command", x.Workers, x.Command)
	}
	for _, program := range []string{"sbatch", "squeue", "scancel"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("starting workers by Slurm: %w; run where Slurm's commands are installed", err)
		}
	}
	dir, err := filepath.Abs(s.Dir())
	if err != nil {
		return nil, fmt.Errorf("naming the study: %w", err)
	}
	if x.Poll == 0 {
		x.Poll = slurmPoll
	}
	journal, err := s.openJournal(here())
	if err != nil {
		return nil, err
	}
	c := &slurmWorkers{Slurm: x, name: slurmName(dir), journal: journal}
	c.remoteWorkers = remoteWorkers{study: s, poll: x.Poll, log: x.Log, tend: c.look, stop: c.end}
	live, err := c.live(ctx)
	if err == nil && live < x.Workers {
		err = c.submit(ctx, x.Workers-live)
	}
	if err != nil {
		return nil, errors.Join(err, journal.close())
	}
	return c, nil
}

// live counts the elements in the queue, waiting or running.
func (c *slurmWorkers) live(ctx context.Context) (int, error) {
	out, err := output(exec.CommandContext(ctx, "squeue", "--noheader", "--array", "--name="+c.name, "--format=%i %T"))
	if err != nil {
		return 0, err
	}
	n := 0
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && f[1] != "COMPLETING" {
			n++
		}
	}
	return n, nil
}

// submit has elements started.
func (c *slurmWorkers) submit(ctx context.Context, elements int) error {
	script, err := c.Script(c.study.Dir(), elements)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sbatch", "--parsable")
	cmd.Stdin = strings.NewReader(script)
	out, err := output(cmd)
	if err != nil {
		return fmt.Errorf("submitting %d workers: %w", elements, err)
	}
	job, _, _ := strings.Cut(strings.TrimSpace(out), ";")
	c.say("submitted %d workers as Slurm job %s", elements, job)
	return c.journal.write(note{Kind: noteSubmit, Text: fmt.Sprintf("%d elements of Slurm job %s", elements, job)})
}

// look submits elements for those that are gone while there is work for them.
// A controller that does not answer is waited for: the workers do not need it.
func (c *slurmWorkers) look(ctx context.Context, _ int) error {
	live, err := c.live(ctx)
	if err != nil {
		if !c.troubled && ctx.Err() == nil {
			c.say("no word from Slurm, the workers go on: %v", err)
		}
		c.troubled = true
		return nil
	}
	c.troubled = false
	if live >= c.Workers {
		return nil
	}
	open, err := c.study.openClaims() // they may have ended because all is done
	if err != nil || open == 0 {
		return err
	}
	need := min(c.Workers-live, open)
	if live >= open {
		return nil
	}
	if !c.restarts.allowed(open) {
		if live > 0 {
			return nil // those that are there go on
		}
		return fmt.Errorf("%d times in a row workers by Slurm ended and nothing was done%s", patience, c.study.lastWords("slurm-"))
	}
	return c.submit(ctx, need)
}

// end cancels the elements; when the study is complete only those that have not
// begun, for the others are about to end.
func (c *slurmWorkers) end(complete bool) error {
	args := []string{"--name=" + c.name}
	if complete && !c.Keep {
		args = append(args, "--state=PENDING")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := output(exec.CommandContext(ctx, "scancel", args...))
	return errors.Join(err, c.journal.close())
}

// output runs a command and returns what it prints; its complaints are in the
// error.
func output(cmd *exec.Cmd) (string, error) {
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd.Args[0], err, strings.TrimSpace(complaints.String()))
	}
	return out.String(), nil
}
