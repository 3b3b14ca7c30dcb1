package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/disk"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// trace is the nodes of the cluster and the tasks that arrive there. Its CPUs are
// thousandths of a core, so that none is rounded.
type trace struct {
	site   model.Site
	models []string // of the GPUs, by node
	tasks  []task
}

// task asks for a share of one node.
type task struct {
	share place.Share
	spec  string // models of GPUs that will do, with | between them; "" for any
}

// milli is the thousandths of GPUs that t asks for.
func (t *task) milli() int64 {
	return int64(t.share.GPUs)*model.WholeGPU + int64(t.share.GPUMilli)
}

// gpus is how many there are in all.
func (t *trace) gpus() (n int64) {
	for i := range t.site.Nodes {
		n += int64(t.site.Nodes[i].GPUs)
	}
	return n
}

// mask is the nodes that a task with a spec may use.
func (t *trace) mask(spec string) model.NodeSet {
	set := model.NewNodeSet(len(t.models))
	for i, name := range t.models {
		if spec == "" || slices.Contains(strings.Split(spec, "|"), name) {
			set.Add(model.NodeID(i))
		}
	}
	return set
}

// most is the largest number in a file that is believed.
const most = 1 << 30

// readTrace reads the lists of nodes and tasks.
func readTrace(nodes, tasks string) (*trace, error) {
	t := &trace{site: model.Site{Fingerprints: 1, Groups: make([]model.Group, 1), Amounts: true}}
	err := readRows(nodes, []string{"cpu_milli", "memory_mib", "gpu", "model"}, func(r *row) error {
		cpus, memory, gpus := r.number("cpu_milli", most), r.number("memory_mib", most), r.number("gpu", 64)
		t.site.Nodes = append(t.site.Nodes, model.Node{Topology: -1, CPUs: int32(cpus), Memory: memory << 20, GPUs: int32(gpus)})
		t.models = append(t.models, r.text("model"))
		return r.err
	})
	if err != nil {
		return nil, err
	}
	if t.gpus() == 0 {
		return nil, fmt.Errorf("%s: no node has a GPU: give the list of nodes with GPUs", nodes)
	}
	asked := int64(0)
	err = readRows(tasks, []string{"cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"}, func(r *row) error {
		one := task{spec: r.text("gpu_spec"), share: place.Share{Amounts: model.Amounts{CPUs: int32(r.number("cpu_milli", most)), Memory: r.number("memory_mib", most) << 20}}}
		gpus, milli := r.number("num_gpu", 64), r.number("gpu_milli", model.WholeGPU)
		switch {
		case gpus == 1 && milli > 0 && milli < model.WholeGPU:
			one.share.GPUMilli = int32(milli)
		case gpus > 0:
			one.share.GPUs = int32(gpus)
		}
		asked += one.milli()
		t.tasks = append(t.tasks, one)
		return r.err
	})
	if err == nil && asked == 0 {
		err = fmt.Errorf("%s: no task asks for a GPU: give a list of tasks with num_gpu", tasks)
	}
	return t, err
}

// row is a row of a file. The first thing that is wrong with it stays in err.
type row struct {
	file   string
	line   int
	column map[string]int
	fields []string
	err    error
}

func (r *row) text(column string) string { return r.fields[r.column[column]] }

// number is a whole number from 0 to most.
func (r *row) number(column string, most int64) int64 {
	n, err := strconv.ParseInt(r.text(column), 10, 64)
	if r.err == nil && (err != nil || n < 0 || n > most) {
		r.err = fmt.Errorf("%s:%d: %s is %q: give a whole number from 0 to %d", r.file, r.line, column, r.text(column), most)
	}
	return n
}

// mostBytes of a file once it is unpacked: a hundred times the lists of the trace.
const mostBytes = 128 << 20

// readRows hands out the rows of comma-separated values with a header.
func readRows(path string, columns []string, each func(r *row) error) error {
	content, err := disk.ReadFile(path)
	if err != nil {
		return err
	}
	var from io.Reader = bytes.NewReader(content)
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(from); err != nil {
			return fmt.Errorf("%s: %w: give a file that gzip wrote", path, err)
		}
	}
	limited := &io.LimitedReader{R: from, N: mostBytes}
	lines := csv.NewReader(limited)
	header, err := lines.Read()
	if err != nil {
		return fmt.Errorf("%s: no header: %w", path, err)
	}
	r := &row{file: path, column: map[string]int{}}
	for _, name := range columns {
		i := slices.Index(header, name)
		if i < 0 {
			return fmt.Errorf("%s:1: found the columns %s, expected %s among them", path, strings.Join(header, ", "), name)
		}
		r.column[name] = i
	}
	for {
		r.fields, err = lines.Read()
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return nil
		}
		if limited.N <= 0 {
			return fmt.Errorf("%s: more than %d MiB: give a part of it", path, mostBytes>>20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.line, _ = lines.FieldPos(0)
		if err := each(r); err != nil {
			return err
		}
	}
}
