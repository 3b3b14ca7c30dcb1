// Package services reads requests to services that no other package has: those of the
// language model service Mooncake, and numbers of requests per second between blanks, as of
// NASA and Twitter. It knows nothing of what a replay makes of a request.
//
// Mooncake: a JSON object on each line with timestamp (ms from the start), input_length,
// output_length and hash_ids. Many requests share an instant.
//
// Requests per second: numbers between blanks, one for each second, in one line. When the first
// second was is not in the file.
//
// Sources: https://github.com/kvcache-ai/Mooncake, https://github.com/reconfigurable-ml-pipeline/web-service-datasets.
package services

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Mooncake is the format of the requests of Mooncake.
var Mooncake = &format.Format{
	Name: "mooncake", Version: 1, Files: 1, Served: true, What: "requests of Mooncake (JSON lines with timestamp, input_length, output_length)",
	Sniff: func(h format.Head) format.Match {
		return format.JSONMatch(h, `"timestamp"`, `"input_length"`, `"output_length"`)
	},
	Scan: scanMooncake,
}

type request struct {
	Time *float64 `json:"timestamp"`
	In   *float64 `json:"input_length"`
	Out  *float64 `json:"output_length"`
}

func scanMooncake(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Relative: true}
	service := l.Account.ServiceOr(o.Service, "llm")
	l.Read = func(s *format.Sink) error {
		return format.EachJSONLine(files, func(e *format.Element) error {
			var r request
			if err := e.Into(&r); err != nil {
				return err
			}
			l.Account.LeftOut(e.LeftOut(&r)...)
			if r.Time == nil || !(*r.Time >= 0 && *r.Time < 1<<50) {
				return e.Wrong("timestamp", "no time", "milliseconds from the start of the trace")
			}
			sample := traces.Load{Service: service, Time: model.Time(float64(*r.Time * 1000)), Arrivals: traces.Some(1.0)}
			if r.In != nil {
				sample.TokensIn = traces.Some(*r.In)
			}
			if r.Out != nil {
				sample.TokensOut = traces.Some(*r.Out)
			}
			return s.Load(e.Place(""), &sample, "")
		})
	}
	return l.Scan()
}

// PerSecond is the format of requests per second.
var PerSecond = &format.Format{
	Name: "per-second", Version: 1, Files: 1, Served: true, What: "requests per second as numbers between blanks in one line (NASA, Twitter)", Sniff: sniffNumbers, Scan: scanNumbers,
}

// fewest is how many numbers a first line must have: lines of other formats have fewer.
const fewest = 100

func sniffNumbers(h format.Head) format.Match {
	text := string(h.Bytes)
	if line, _, more := strings.Cut(text, "\n"); more {
		text = line
	} else if !h.Whole {
		text = text[:strings.LastIndexByte(text, ' ')+1]
	}
	words := strings.Fields(text)
	for i, w := range words {
		if _, err := strconv.ParseUint(w, 10, 53); err != nil {
			return format.No(min(i, 5), 1, format.Excerpt(w), "a whole number", "name another file")
		}
	}
	if len(words) < fewest {
		return format.No(min(len(words), 5), 1, strconv.Itoa(len(words))+" numbers", "one for each second, 100 or more", "name another file")
	}
	return format.Match{Percent: 100}
}

func scanNumbers(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Relative: true}
	service := l.Account.ServiceOr(o.Service, "web")
	l.Read = func(s *format.Sink) error {
		files[0].Bad.Reading(files[0].Name)
		return words(files[0], func(n int64, word string) error {
			count, err := strconv.ParseUint(word, 10, 53)
			if err != nil {
				return files[0].Pass(&traces.DataError{File: files[0].Name, Row: n, Found: format.Excerpt(word), Expected: "a whole number", Mend: "correct the value, or leave the rest out"})
			}
			sample := traces.Load{Service: service, Time: model.Time(n-1) * model.Time(model.Second), Width: model.Second, Arrivals: traces.Some(float64(count))}
			return s.Load(&format.Place{Of: "number", Line: n}, &sample, "")
		})
	}
	return l.Scan()
}

// words goes through what stands between blanks.
func words(f format.File, fn func(n int64, word string) error) error {
	raw, err := f.Open()
	if err != nil {
		return err
	}
	defer raw.Close() // only read
	in := bufio.NewReaderSize(raw, 64<<10)
	var word []byte
	for n := int64(0); ; {
		b, err := in.ReadByte()
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		if !end && b > ' ' {
			if word = append(word, b); len(word) > 100 {
				return &traces.DataError{File: f.Name, Row: n + 1, Found: format.Excerpt(string(word)), Expected: "a whole number", Mend: "correct the value, or leave the rest out"}
			}
			continue
		}
		if len(word) > 0 {
			n++
			if err := fn(n, string(word)); err != nil {
				return err
			}
			word = word[:0]
		}
		if end {
			return nil
		}
	}
}
