package workflow

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// DAX is the format of Pegasus.
var DAX = &format.Format{
	Name: "dax", Version: 1, Files: format.ManyFiles, What: "workflows of Pegasus (DAX, XML)",
	Sniff: func(h format.Head) format.Match {
		if bytes.HasPrefix(bytes.TrimSpace(h.Bytes), []byte("<")) && bytes.Contains(h.Bytes, []byte("<adag")) {
			return format.Match{Percent: 100}
		}
		return format.No(0, 1, "no element adag", "a DAX of Pegasus", "name another file")
	},
	Scan: func(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
		l := &format.Log{Format: f, Files: files, Relative: true}
		l.Account.Assume("jobs.submit", "0", "a DAX says what depends on what, and not when")
		l.Account.Assume("jobs.cpus_per_node", "1", "a DAX does not say how many processors a task needs")
		l.Read = func(s *format.Sink) error {
			d := dax{ids: map[string]int64{}}
			for i, file := range files {
				d.name = "dag" + strconv.Itoa(i+1)
				clear(d.ids)
				if err := d.read(file, s); err != nil {
					return err
				}
			}
			return nil
		}
		return l.Scan()
	},
}

// dax is a file under way.
type dax struct {
	name string
	ids  map[string]int64
	last int64
}

func attribute(e *xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// reading remembers how reading failed.
type reading struct {
	io.Reader
	failed error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

func (d *dax) read(file format.File, s *format.Sink) error {
	raw, err := file.Open()
	if err != nil {
		return err
	}
	defer raw.Close() // only read
	read := &reading{Reader: raw}
	in := xml.NewDecoder(read)
	in.CharsetReader = func(name string, _ io.Reader) (io.Reader, error) {
		return nil, format.LineError(file, 1, "the encoding "+strconv.Quote(name), "UTF-8", "convert the file, as with iconv")
	}
	child, closed := "", false
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) && closed {
			return nil
		}
		var syntax *xml.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.EOF) {
			line, _ := in.InputPos()
			return format.LineError(file, int64(line), "no XML", "whole XML", "fetch the file again if it was cut short")
		}
		var data *traces.DataError
		switch {
		case err != nil && read.failed == nil && !errors.As(err, &data): // an XML that package xml does not read, as of version 2
			line, _ := in.InputPos()
			return format.LineError(file, int64(line), err.Error(), "XML 1.0", "write the file as that")
		case err != nil:
			return err
		}
		if end, ok := token.(xml.EndElement); ok {
			closed = closed || end.Name.Local == "adag"
			continue
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		line, _ := in.InputPos()
		switch e.Name.Local {
		case "adag":
			if name := attribute(&e, "name"); name != "" {
				d.name += " " + name
			}
		case "job":
			err = d.job(file, &e, int64(line), s)
		case "child":
			child = attribute(&e, "ref")
		case "parent":
			err = d.edge(&e, child, int64(line), s)
		}
		if err != nil {
			return err
		}
	}
}

func (d *dax) job(file format.File, e *xml.StartElement, line int64, s *format.Sink) error {
	d.last++
	id := attribute(e, "id")
	j := traces.Job{ID: d.last, Name: id, DAG: d.name, NodesMin: traces.Some[int32](1), CPUsPerNode: traces.Some[int32](1), ProcsRequested: traces.Some[int32](1)}
	drop := "no-run-time"
	if text := attribute(e, "runtime"); text != "" {
		run, _, ok := format.Decimal(text, model.Second)
		if !ok {
			bad := format.LineError(file, line, format.Excerpt(text), "seconds", "correct the value, or leave the job out")
			bad.Column = "runtime"
			return bad
		}
		j.Runtime, drop = traces.Some(run), ""
	}
	if drop == "" && j.Runtime.V >= 0 {
		d.ids[id] = j.ID
	}
	return s.Job(&format.Place{Line: line, Name: id}, &j, drop)
}

func (d *dax) edge(e *xml.StartElement, child string, line int64, s *format.Sink) error {
	job, known := d.ids[child]
	on, known2 := d.ids[attribute(e, "ref")]
	drop := ""
	if !known || !known2 || job == on {
		drop = "unknown-prerequisite"
	}
	return s.Dep(&format.Place{Line: line, Name: child}, &traces.Dep{Job: job, On: on, Condition: "success"}, drop)
}
