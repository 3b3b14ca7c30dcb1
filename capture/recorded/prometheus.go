package recorded

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// series is one of the answer to query_range.
type series struct {
	Metric map[string]string    `json:"metric"`
	Values [][2]json.RawMessage `json:"values"`
}

// answer reads what Prometheus answers, a series at a time: all of them together take many times the room of the text.
type answer struct {
	status, failure, kind string
	each                  func(*series) error
}

// wrongAnswer is an error of what each series is told to.
type wrongAnswer struct{ error }

// members calls read for each name of the object that comes next; what it does not read is passed over.
func members(d *json.Decoder, read func(name string) (bool, error)) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return cmp.Or(err, errors.New("found no object"))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		done, err := read(name.(string)) //nolint:forcetypeassert // names are strings
		if err != nil {
			return err
		}
		if !done {
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return err
			}
		}
	}
	_, err := d.Token()
	return err
}

// read reads the whole of a text.
func (a *answer) read(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	err := members(d, func(name string) (bool, error) {
		switch name {
		case "status":
			return true, d.Decode(&a.status)
		case "error":
			return true, d.Decode(&a.failure)
		case "data":
			return true, a.data(d)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errors.New("found more behind the answer"))
	}
	return nil
}

// data reads the member of that name.
func (a *answer) data(d *json.Decoder) error {
	return members(d, func(name string) (bool, error) {
		switch name {
		case "resultType":
			return true, d.Decode(&a.kind)
		case "result":
			return true, a.result(d)
		}
		return false, nil
	})
}

// result reads the list of series.
func (a *answer) result(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return cmp.Or(err, errors.New("found no list of series"))
	}
	for d.More() {
		var one series
		if err := d.Decode(&one); err != nil {
			return err
		}
		if err := a.each(&one); err != nil {
			return wrongAnswer{err}
		}
	}
	_, err := d.Token()
	return err
}

// Prometheus reads the answer of /api/v1/query_range, or of /api/v1/query about a range, for metrics that Exposition knows, for
// example of the query {__name__=~"DCGM_FI_.*"}.
func Prometheus(text []byte, o Options) ([]traces.Telemetry, error) {
	table := newIndex(o)
	row := int64(0)
	a := answer{each: func(s *series) error {
		row++
		o.read(int64(len(s.Values)))
		for _, pair := range s.Values {
			at, v, err := point(row, pair)
			if err != nil {
				if err := o.unread(err); err != nil {
					return err
				}
				continue
			}
			if err := table.put(row, s.Metric["__name__"], s.Metric, at, v); err != nil {
				return err
			}
		}
		return nil
	}}
	err := a.read(text)
	var wrong wrongAnswer
	switch {
	case errors.As(err, &wrong):
		return nil, wrong.error
	case err != nil && a.status == "":
		return nil, bad(1, "", err.Error(), "the JSON of query_range")
	case a.status != "success" || a.kind != "matrix":
		return nil, bad(1, "", a.status+" "+a.kind+" "+a.failure, "an answer of query_range: success, with a matrix")
	case err != nil:
		return nil, bad(1, "", err.Error(), "the JSON of query_range")
	}
	return table.end()
}

// point reads a time and its value.
func point(series int64, pair [2]json.RawMessage) (at model.Time, v float64, err error) {
	seconds, err := strconv.ParseFloat(string(pair[0]), 64)
	if err != nil || !(math.Abs(seconds) <= 1<<40) {
		return 0, 0, bad(series, "", string(pair[0]), "s since 1970")
	}
	var number string
	if err := json.Unmarshal(pair[1], &number); err != nil {
		return 0, 0, bad(series, "", string(pair[1]), "a number as text")
	}
	if v, err = strconv.ParseFloat(number, 64); err != nil {
		return 0, 0, bad(series, "", number, "a number")
	}
	return model.Time(math.Round(float64(seconds * 1e6))), v, nil
}
