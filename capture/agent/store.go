package agent

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"orrery/capture"
	"orrery/internal/disk"
	"orrery/scheduler/model"
	"orrery/traces"
)

const (
	bundleSuffix  = ".trace"
	removedSuffix = ".removed"
	rowBytes      = 96 // of a row in a file, more than measured, to stop a file in time
)

// bundle is the one that is being written.
type bundle struct {
	w      *traces.Writer
	name   string
	epoch  model.Time
	begun  model.Time // the first sample that was due in it
	rows   int64
	bytes  int64
	events []traces.Event // with absolute instants until the end
}

// store writes bundles into a folder and keeps it within its bound.
type store struct {
	o   *Options
	cur *bundle
}

// open starts a bundle for samples from an instant on.
func (s *store) open(at model.Time) error {
	when := time.UnixMicro(int64(at)).UTC()
	name := fmt.Sprintf("%s-%s%s", s.o.Node, when.Format("20060102T150405.000000Z"), bundleSuffix)
	for n := 2; ; n++ { // the wall clock may have been set back
		if _, err := os.Lstat(filepath.Join(s.o.Out, name)); err != nil {
			break
		}
		name = fmt.Sprintf("%s-%s-%d%s", s.o.Node, when.Format("20060102T150405.000000Z"), n, bundleSuffix)
	}
	b := &bundle{name: name, epoch: model.Time(when.Truncate(time.Second).UnixMicro()), begun: at}
	w, err := traces.NewWriter(filepath.Join(s.o.Out, name), traces.Meta{Source: "orrery-agent on " + s.o.Node, Epoch: b.epoch, EpochKnown: true, TimeZone: "UTC"})
	if err != nil {
		return err
	}
	b.w, s.cur = w, b
	return nil
}

// row writes one with an absolute instant.
func (s *store) row(t *traces.Telemetry) error {
	b := s.cur
	row := *t
	row.Time = model.Time(row.Time.Sub(b.epoch))
	b.rows++
	b.bytes += rowBytes + int64(len(row.Processes))/8
	return b.w.WriteTelemetry(&row)
}

// parts writes rows of GPU instances, as row does.
func (s *store) parts(rows []traces.Instance) error {
	b := s.cur
	for i := range rows {
		row := &rows[i]
		row.Time = model.Time(row.Time.Sub(b.epoch))
		b.rows++
		b.bytes += rowBytes + int64(len(row.Processes))/8
		if err := b.w.WriteInstance(row); err != nil {
			return err
		}
	}
	return nil
}

// event keeps one until the bundle ends, since some are known only after later ones.
func (s *store) event(e traces.Event) {
	if s.cur != nil {
		s.cur.events = append(s.cur.events, e)
		s.cur.bytes += int64(len(e.Value)) / 4
	}
}

// full says that the bundle must end.
func (s *store) full() bool { return s.cur.bytes >= s.o.MaxDisk/8 }

// finish puts the bundle in its place, on the disk.
func (s *store) finish(node traces.Node) error {
	b := s.cur
	s.cur = nil
	if err := b.w.WriteNode(node); err != nil {
		b.w.Abort()
		return err
	}
	slices.SortStableFunc(b.events, func(x, y traces.Event) int { return cmp.Compare(x.Time, y.Time) })
	for _, e := range b.events {
		e.Time = model.Time(e.Time.Sub(b.epoch))
		if err := b.w.WriteEvent(e); err != nil {
			b.w.Abort()
			return err
		}
	}
	_, err := b.w.Close()
	return err
}

var stamp = regexp.MustCompile(`^-\d{8}T\d{6}\.\d{6}Z(-\d+)?\.trace`)

// owns says whether a name is that of a bundle of this node, and not of another whose name begins in
// the same way.
func (o *Options) owns(name string) bool {
	rest, ok := strings.CutPrefix(name, o.Node)
	return ok && stamp.MatchString(rest)
}

// removal is a bundle that made room.
type removal struct {
	name string
	rows int64
}

// bound removes the oldest bundles until the folder holds no more than three quarters of what it may: an eighth is for the
// one that is being written, and as much for one that is being closed.
func (s *store) bound() (gone []removal, err error) {
	type old struct {
		name  string
		bytes int64
	}
	var all []old
	var total int64
	entries, err := os.ReadDir(s.o.Out)
	if err != nil {
		return nil, err
	}
	for _, d := range entries {
		if !s.o.owns(d.Name()) || !strings.HasSuffix(d.Name(), bundleSuffix) {
			continue
		}
		n := size(filepath.Join(s.o.Out, d.Name()))
		total += n
		all = append(all, old{d.Name(), n})
	}
	for i := 0; i < len(all)-1 && total > s.o.MaxDisk/4*3; i++ {
		path := filepath.Join(s.o.Out, all[i].name)
		rows := measuredRows(path)
		hidden := filepath.Join(s.o.Out, "."+all[i].name+removedSuffix)
		if err := disk.Move(path, hidden); err != nil { // whole until it is gone
			return gone, err
		}
		if err := disk.Delete(hidden); err != nil {
			return gone, err
		}
		total -= all[i].bytes
		gone = append(gone, removal{all[i].name, rows})
	}
	return gone, nil
}

// size is what the files below a folder hold, B.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if st, err := d.Info(); err == nil {
				total += st.Size()
			}
		}
		return nil
	})
	return total
}

// measuredRows counts those of GPUs, nodes and GPU instances of a bundle, -1 when it cannot be read.
func measuredRows(path string) int64 {
	b, err := traces.Open(path)
	if err != nil {
		return -1
	}
	defer b.Close()
	info := b.Info()
	return info.Of("telemetry") + info.Of("mig")
}

// nodeRow is the row of the nodes table.
func nodeRow(name string, v *capture.Inventory) traces.Node {
	n := traces.Node{Name: name, GPUs: int32(len(v.GPUs)), CPUs: v.CPUs, Memory: v.Memory, Fingerprint: capture.Fingerprint(v), Up: true}
	if len(v.GPUs) > 0 {
		n.GPUModel = v.GPUs[0].Name
	}
	return n
}
