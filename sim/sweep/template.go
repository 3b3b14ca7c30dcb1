package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Template has workers started by a command of the user's own: over ssh, by
// another batch system, as a Job of Kubernetes.
//
// A command that names {index} runs once per worker, any other once for all. It
// may be a worker itself, or submit some and end: a command that ends with
// status 0 has done its part. One that ends otherwise is started again, three
// times without progress at most.
type Template struct {
	// Command goes through sh -c with these words replaced, quoted as one word
	// where need be:
	//
	//	{study}    the absolute path of the study
	//	{index}    the number of the worker, from 0
	//	{workers}  how many there are to be
	//	{command}  the command line of a worker
	//
	// {study:sh} and {command:sh} are quoted once more, for commands such as ssh that
	// hand their words to another shell. Braces after a dollar sign are the shell's.
	Command string
	// Cancel is run once, in the same manner, when the workers are to end before
	// the study is complete; it may be "".
	Cancel string
	// Workers is how many there are to be, from 1.
	Workers int
	// Worker is the command line of a worker, for {command}.
	Worker []string
	// Poll is the time between two looks at the study; 0 is 1 s.
	Poll time.Duration
	// Log gets one line on each start; it may be nil.
	Log io.Writer
}

var placeholder = regexp.MustCompile(`\$?\{[a-z]+(:sh)?\}`)

// Lines are the commands that Start runs for the study in dir, which need not be
// there yet.
func (x Template) Lines(dir string) ([]string, error) {
	n := 1
	if strings.Contains(x.Command, "{index}") {
		n = x.Workers
	}
	lines := make([]string, n)
	for i := range lines {
		var err error
		if lines[i], err = x.expand(dir, x.Command, i); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func (x Template) expand(dir, text string, index int) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("naming the study: %w", err)
	}
	if err := oneLine("the path of the study", dir); err != nil {
		return "", err
	}
	if err := oneLine("the command line of a worker", x.Worker...); err != nil {
		return "", err
	}
	var wrong error
	line := placeholder.ReplaceAllStringFunc(text, func(word string) string {
		switch word {
		case "{study}":
			return quoted(dir)
		case "{index}":
			return strconv.Itoa(index)
		case "{workers}":
			return strconv.Itoa(x.Workers)
		case "{command}":
			return quotedAll(x.Worker)
		case "{study:sh}":
			return quoted(quoted(dir))
		case "{command:sh}":
			return quoted(quotedAll(x.Worker))
		}
		if !strings.HasPrefix(word, "$") {
			wrong = fmt.Errorf("the command for workers has %s: write {study}, {index}, {workers} or {command}, or {study:sh} and {command:sh} for words that another shell reads", word)
		}
		return word
	})
	return line, wrong
}

// templateWorkers are the commands that were started.
type templateWorkers struct {
	Template
	remoteWorkers
	commands []*command
	idle     bool // that all have ended was said
}

// command is one line and the process that runs it.
type command struct {
	line     string
	log      string
	process  *exec.Cmd
	ended    chan error // gets how the process ended
	over     bool       // it will not be started again
	failed   error
	restarts restarts
}

// Start runs the commands. They get no input; what they print goes to log/.
func (x Template) Start(_ context.Context, s *Study) (Workers, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	if x.Workers < 1 || strings.TrimSpace(x.Command) == "" {
		return nil, fmt.Errorf("starting workers by a command: found %d workers and the command %q, want one or more and a command", x.Workers, x.Command)
	}
	if x.Poll == 0 {
		x.Poll = time.Second
	}
	if _, err := x.expand(s.Dir(), x.Cancel, 0); err != nil {
		return nil, err
	}
	lines, err := x.Lines(s.Dir())
	if err != nil {
		return nil, err
	}
	c := &templateWorkers{Template: x}
	c.remoteWorkers = remoteWorkers{study: s, poll: x.Poll, log: x.Log, tend: c.look, stop: c.end}
	for i, line := range lines {
		each := &command{line: line, log: s.path(logDir, fmt.Sprintf("template-%d.out", i))}
		if err := each.start(s); err != nil {
			return nil, errors.Join(err, c.end(false))
		}
		c.commands = append(c.commands, each)
		c.say("started: %s", line)
	}
	return c, nil
}

func (c *command) start(s *Study) error {
	log, err := s.root.Log(c.log)
	if err != nil {
		return fmt.Errorf("starting workers: %w", suspect(err))
	}
	defer log.Close() // the process has its own
	c.process = exec.Command("sh", "-c", c.line)
	c.process.Stdout, c.process.Stderr = log, log
	ownGroup(c.process)
	c.ended = make(chan error, 1)
	process, started, ended := c.process, make(chan error), c.ended
	go func() {
		runtime.LockOSThread() // until the command has ended, for it ends with the thread
		defer runtime.UnlockOSThread()
		err := process.Start()
		started <- err
		if err == nil {
			ended <- process.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting workers: %w", err)
	}
	return nil
}

// running says whether the process has not ended yet, and takes note of how it
// did.
func (c *command) running() bool {
	if c.process == nil {
		return false
	}
	select {
	case c.failed = <-c.ended:
		c.process = nil
		return false
	default:
		return true
	}
}

// look starts commands again that have failed.
func (c *templateWorkers) look(_ context.Context, open int) error {
	running, given := 0, 0
	var failed error
	for _, each := range c.commands {
		switch {
		case each.over:
		case each.running():
			running++
			continue
		case each.failed == nil:
			each.over = true
		case !each.restarts.allowed(open):
			each.over = true
			c.say("given up: %s: %v", each.line, each.failed)
		default:
			c.say("ended by %v, started again: %s", each.failed, each.line)
			if err := each.start(c.study); err != nil {
				return err
			}
			running++
			continue
		}
		if each.failed != nil {
			given++
			failed = each.failed
		}
	}
	if given == len(c.commands) {
		return fmt.Errorf("%d times in a row the commands for workers ended by %w and nothing was done%s", patience, failed, c.study.lastWords("template-"))
	}
	if running == 0 && !c.idle {
		c.idle = true
		c.say("the commands have ended; waiting for the workers that they have submitted")
	}
	return nil
}

// grace is what workers get to give back their claims.
const grace = 10 * time.Second

// end terminates the commands that run, and has those that were submitted
// cancelled.
func (c *templateWorkers) end(complete bool) error {
	var errs []error
	if !complete && c.Cancel != "" {
		line, err := c.expand(c.study.Dir(), c.Cancel, 0)
		if err == nil {
			_, err = output(exec.Command("sh", "-c", line))
		}
		errs = append(errs, err)
	}
	for _, each := range c.commands {
		if each.running() {
			terminate(each.process)
		}
	}
	deadline := time.After(grace)
	for _, each := range c.commands {
		if each.process == nil {
			continue
		}
		select {
		case each.failed = <-each.ended:
		case <-deadline:
			kill(each.process)
			each.failed = <-each.ended
			deadline = time.After(0)
		}
	}
	return errors.Join(errs...)
}
