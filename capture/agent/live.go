package agent

import (
	"errors"
	"os"
	"time"

	"orrery/capture"
	"orrery/scheduler/model"
)

// live is a small file beside the bundles that has the last sample of each GPU, for those who look. It is written in
// place and without a sync, holds nothing that is missed when it is lost, and goes when the agent ends; after a kill it stays, and
// its instant tells that nothing has come since.
type live struct {
	file    *os.File
	text    []byte
	longest int
	now     capture.Live
	failed  bool
}

func openLive(o *Options, gpus []int32) (*live, error) {
	folder, err := os.OpenRoot(o.Out) // a link that leads elsewhere is not written through
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	f, err := folder.OpenFile(capture.LiveName(o.Node), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	l := &live{file: f, now: capture.Live{Node: o.Node, Interval: model.Duration(o.Interval / time.Microsecond)}}
	for _, gpu := range gpus {
		l.now.GPUs = append(l.now.GPUs, capture.LiveGPU{GPU: gpu})
	}
	return l, nil
}

// put writes over what is there: blanks cover what was longer.
func (l *live) put() error {
	l.text = l.now.Append(l.text[:0])
	l.longest = max(l.longest, len(l.text))
	for len(l.text) < l.longest {
		l.text = append(l.text, ' ')
	}
	_, err := l.file.WriteAt(l.text, 0)
	return err
}

func (l *live) close() error { return errors.Join(l.file.Close(), os.Remove(l.file.Name())) }
