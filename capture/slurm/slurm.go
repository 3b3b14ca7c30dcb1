// Package slurm captures the workload of a running Slurm: it asks the client commands again
// and again, keeps what is new in whole synced files, and makes a bundle of them with the
// importer of sacct. It reads no clock and starts no process itself: both come in. It must
// not know what a replay makes of a job.
//
// # What is asked
//
// Each poll asks sdiag, squeue, sacct, scontrol and sacctmgr by their parsable output, with
// times as seconds since 1970. A command that fails costs what it would have said and
// nothing else; the others count.
//
// # Nothing is lost, nothing counts twice
//
// sacct is asked for the jobs that ended since what is acknowledged, less an overlap. A
// poll is acknowledged when sacct has answered and sdiag has said that slurmctld had nothing
// left to hand to the database; otherwise the next one asks from where the last one did. A
// row is known by the number and the submission of its job, which the database holds once, so
// that what overlaps is recognised; rows that the database has purged since stay.
//
// What is new in a poll becomes one file, whole and on the disk before the state says so.
// A process that is killed between the two finds the file at its next start, and takes it
// into the state. Small files are put together into larger ones, which cover them: one that
// was not removed in time is passed over.
package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orrery/internal/disk"
	"orrery/scheduler/model"
)

// Tool runs a client command of Slurm and answers what it prints. Its times are to be
// those of SLURM_TIME_FORMAT=%s and TZ=UTC.
type Tool func(ctx context.Context, name string, args ...string) ([]byte, error)

// overlap is by how much a window of sacct reaches back behind what is acknowledged: for
// messages that are under way, and clocks that differ.
const overlap = 5 * model.Minute

// Recorder captures into a folder. One at a time may have it open.
type Recorder struct {
	dir    string
	lock   *os.File
	tool   Tool
	state  state
	fields []string // of sacct, empty until they were asked for
	news   []record // of the poll that is being made
}

// Open takes the folder, which is made where it is missing, and goes on from what it holds.
// Without anything captured yet, jobs that ended since an instant on are asked for.
func Open(dir string, tool Tool, since model.Time) (*Recorder, error) {
	if err := disk.Folder(filepath.Join(dir, newsFolder)); err != nil {
		return nil, err
	}
	lock, err := disk.Lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return nil, fmt.Errorf("another capture writes to %s: %w", dir, err)
	}
	r := &Recorder{dir: dir, lock: lock, tool: tool}
	if err = clean(dir, filepath.Join(dir, newsFolder)); err == nil {
		r.state, err = load(dir, since)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if r.state.Acknowledged == 0 {
		r.state.Acknowledged = since
	}
	return r, nil
}

// Close gives the folder back.
func (r *Recorder) Close() error { return r.lock.Close() }

// Told is what a poll came to.
type Told struct {
	Behind bool     // the window was not acknowledged: the next one begins where it did
	Failed []string // commands that failed, and why
}

// Poll asks once, at an instant of the wall clock, and keeps what is new. An error is one
// of the disk, or that none of the commands answered; after an error of the disk the
// recorder is of no more use.
func (r *Recorder) Poll(ctx context.Context, now model.Time) (Told, error) {
	var told Told
	r.news = r.news[:0]
	at := poll{r: r, ctx: ctx, now: now, told: &told}
	at.query()
	if err := ctx.Err(); err != nil {
		return told, err
	}
	r.state.Polls++
	if len(told.Failed) > 0 {
		r.state.Incomplete++
	}
	if last := r.state.Last; last > 0 {
		r.state.LongestGap = max(r.state.LongestGap, now.Sub(last))
	}
	r.state.Last = now
	if r.state.First == 0 {
		r.state.First = now
	}
	if err := r.state.keep(r.dir, r.news); err != nil {
		return told, err
	}
	if at.answered == 0 {
		return told, fmt.Errorf("no command of Slurm answered: %s", strings.Join(told.Failed, "; "))
	}
	return told, nil
}

// partial stands in the names of what was being written when a process was killed.
const partial = ".partial-"

// clean removes what a killed process left half written.
func clean(dirs ...string) error {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), partial) {
				if err := disk.Delete(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
