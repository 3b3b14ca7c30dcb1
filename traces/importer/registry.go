package importer

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/alibaba"
	"orrery/traces/importer/azure"
	"orrery/traces/importer/batch"
	"orrery/traces/importer/columns"
	"orrery/traces/importer/energy"
	"orrery/traces/importer/failure"
	"orrery/traces/importer/format"
	"orrery/traces/importer/gpucluster"
	"orrery/traces/importer/research"
	"orrery/traces/importer/services"
	"orrery/traces/importer/slurm"
	"orrery/traces/importer/steam"
	"orrery/traces/importer/swf"
	"orrery/traces/importer/workflow"
	"orrery/traces/importer/worldcup"
)

// formats are those that are told by their content, in the order in which they are
// listed. A file is of one of them at most.
var formats = []*format.Format{
	swfLogs,
	slurm.Sacct, slurm.JSON, slurm.JobTable, batch.PBS, batch.Cobalt, batch.SGE, batch.LSF, batch.OAR,
	research.Batsim, research.BatsimJobs, research.SlurmSim, research.SlurmSimJobs,
	alibaba.Openb, alibaba.PAITasks, alibaba.PAISpec, alibaba.SpotJobs, alibaba.SpotNodes, alibaba.DLRM,
	gpucluster.Philly, gpucluster.PhillyJSON, gpucluster.PhillyMachines, gpucluster.Helios, gpucluster.Acme,
	research.Gavel, research.Sia, research.ElasticFlow, research.Chronus, research.Tiresias, research.GAIA,
	workflow.WfFormat, workflow.DAX, workflow.GWF, workflow.WTF, workflow.OpenDC, alibaba.Batch2017, alibaba.Batch2018,
	azure.LLM, azure.Functions2019, azure.Functions2021, services.Mooncake, services.PerSecond, worldcup.Counts, steam.Players, alibaba.Requests,
	energy.EPF, energy.ENTSOE, energy.LetsWait, energy.Maps, energy.US, energy.OpenDC,
	failure.LANL, failure.FTA, failure.Titan,
}

var swfLogs = &format.Format{
	Name: swf.Name, Version: swf.Version, Files: 1, What: "workload logs in the Standard Workload Format (18 numbers to a line)",
	Sniff: sniffSWF,
	Scan: func(_ *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
		log, err := swf.Scan(files[0].Name, files[0].Open, files[0].Bad.Limit)
		return swfLog{log}, err
	},
}

// swfLog is a log as the registry writes it.
type swfLog struct{ *swf.Log }

// Write implements format.Scanned.
func (l swfLog) Write(w *traces.Writer) error { return l.Log.Write(w) }

// sniffSWF counts how many of the first words of a file are numbers.
func sniffSWF(h format.Head) format.Match {
	err := swf.Sniff(h.Bytes, h.Whole)
	if err == nil && format.Lines(h) == nil {
		return format.No(1, 1, fmt.Sprintf("a line longer than %d bytes", len(h.Bytes)), "18 numbers on a line", "name another file")
	}
	if err == nil {
		return format.Match{Percent: 100}
	}
	m := format.Match{Percent: 1, Err: &traces.DataError{Found: err.Error()}}
	errors.As(err, &m.Err)
	for _, line := range format.Lines(h) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == ';' {
			continue
		}
		numbers := 0
		for _, w := range words {
			if strings.Trim(w, "+-.0123456789eE") == "" {
				numbers++
			}
		}
		m.Percent = 1 + 90*numbers/max(len(words), 18)
		if n := strings.Count(line, ";"); n == 17 || n == 18 { // the fields of SWF, in another file format
			m.Percent = 50
		}
		break
	}
	return m
}

// Formats lists the formats that files are told by, for people.
func Formats() []format.Format {
	out := make([]format.Format, len(formats))
	for i, f := range formats {
		out[i] = *f
	}
	return out
}

// formatOf is the format of a file by its beginning. Where it is none, the DataError
// says which came nearest, and why it is not that.
func formatOf(h format.Head) (*format.Format, error) {
	if i := bytes.IndexFunc(h.Bytes, isBinary); i >= 0 {
		return nil, unknown(&traces.DataError{Found: fmt.Sprintf("a binary file (byte %#02x at offset %d)", h.Bytes[i], i), Expected: "text of a known format"}, nil, 0)
	}
	if h.Whole && len(bytes.TrimSpace(h.Bytes)) == 0 {
		return nil, unknown(&traces.DataError{Found: "an empty file", Expected: "text of a known format"}, nil, 0)
	}
	var closest *format.Format
	var best format.Match
	for _, f := range formats {
		if f.Parquet {
			continue
		}
		m := f.Sniff(h)
		if m.Err == nil {
			return f, nil
		}
		if closest == nil || m.Percent > best.Percent {
			closest, best = f, m
		}
	}
	if best.Percent <= resembles {
		return nil, unknown(describe(h), nil, 0)
	}
	return nil, unknown(best.Err, closest, best.Percent)
}

// resembles is how much of what a format looks for must be there for the format to be named.
const resembles = 30

// describe says what a file is that resembles no format.
func describe(h format.Head) *traces.DataError {
	lines := format.Lines(h)
	e := &traces.DataError{Expected: "a file of a known format"}
	if len(lines) == 0 {
		e.Found, e.Line = fmt.Sprintf("a line longer than %d bytes", len(h.Bytes)), 1
		return e
	}
	first, line := "", 1
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			first, line = l, i+1
			break
		}
	}
	e.Line = int64(line)
	low := strings.ToLower(strings.TrimSpace(first))
	switch {
	case strings.HasPrefix(low, "version https://git-lfs"):
		e.Found, e.Mend = "a pointer of Git LFS, not the file that it stands for", "fetch the file itself, with git lfs pull"
	case strings.HasPrefix(low, "<!doctype html"), strings.HasPrefix(low, "<html"):
		e.Found = "a page in HTML"
	case strings.HasPrefix(low, "# ") || strings.HasPrefix(low, "## "):
		e.Found = "text in Markdown, " + format.Excerpt(first)
	case strings.HasPrefix(low, "{"), strings.HasPrefix(low, "["):
		e.Found = "JSON of no known kind"
	default:
		e.Found = "the line " + format.Excerpt(first)
		e.Mend = columns.Suggest(h)
	}
	return e
}

// isBinary says whether a character has no business in a text file.
func isBinary(c rune) bool { return c < ' ' && !strings.ContainsRune("\n\r\t\f\v\x1a", c) }

// unknown is the refusal of a file that is of no format.
func unknown(why *traces.DataError, closest *format.Format, percent int) error {
	e := *why
	if closest != nil && percent > resembles {
		e.Mend += fmt.Sprintf("; of the known formats %s came nearest", closest.Name)
	} else if e.Mend == "" {
		e.Mend = "it resembles no known format"
	}
	e.Mend = strings.TrimPrefix(fmt.Sprintf("%s; orrery import --help describes the %d known formats", e.Mend, len(formats)), "; ")
	return &e
}
