package recorded

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Exposition reads the text format of Prometheus, in which times are in ms, or OpenMetrics, in which they are in s with fractions and which
// ends with the line "# EOF". Samples without a time are of Options.At; those without a label Hostname are of Options.Node. What instances of
// MIG have of the whole GPU is taken once. Metrics that the table has no column for are counted by name.
func Exposition(text []byte, o Options) ([]traces.Telemetry, error) {
	table := newIndex(o)
	open := openMetrics(text)
	number := int64(0)
	for raw := range bytes.Lines(text) { // a copy of a line at a time
		line := string(raw)
		number++
		cut := !strings.HasSuffix(line, "\n")
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		o.read(1)
		if err := table.line(number, line, open); err != nil {
			data, ofLine := err.(*traces.DataError) //nolint:errorlint // as bad made it
			if !ofLine || data.Mend != "" && !strings.HasPrefix(data.Mend, mendTimes) {
				return nil, err // of the whole text
			}
			if cut && number > 1 {
				o.left("last line, cut off", line[:min(len(line), 60)], 1)
				continue
			}
			if err := o.unread(err); err != nil {
				return nil, err
			}
		}
	}
	return table.end()
}

// openMetrics says whether a text is OpenMetrics: no other has this line.
func openMetrics(text []byte) bool {
	for line := range bytes.Lines(text) {
		if string(bytes.TrimRight(line, " \r\n")) == "# EOF" {
			return true
		}
	}
	return false
}

// line reads a sample.
func (x *index) line(number int64, line string, open bool) error {
	name, labels, rest, ok := split(line)
	if !ok {
		return bad(number, "", line[:min(len(line), 60)], "a sample of the text format of Prometheus")
	}
	fields := strings.Fields(rest)
	for i, f := range fields {
		if f == "#" { // an exemplar
			fields = fields[:i]
			break
		}
	}
	if len(fields) == 0 || len(fields) > 2 {
		return bad(number, name, line[:min(len(line), 60)], "a value, and at most a time")
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return bad(number, name, fields[0], "a number")
	}
	var at model.Time
	switch _, taken := known(name); {
	case len(fields) == 2:
		if at, err = instant(number, name, fields[1], open); err != nil {
			return err
		}
		x.timed = x.timed || taken
	case taken && !x.o.At.OK:
		x.timeless = append(x.timeless, sample{number, name})
		return nil
	default:
		at = x.o.At.V
	}
	if err := x.put(number, name, labels, at, v); err != nil {
		err.(*traces.DataError).Mend = "give --node-label LABEL" //nolint:errorlint,forcetypeassert // made by bad
		return err
	}
	return nil
}

// Times of metrics are from 2000 to 2100: a program that writes s for ms, or the other way round, is found out.
const earliest, latest = 946_684_800, 4_102_444_800

// mendTimes begins the advice about a time that may be of another unit. It is about the line: where all are of another unit there are
// more than may be left out, and the first says so.
const mendTimes = "if all times are so: "

// instant reads the time of a sample.
func instant(number int64, name, text string, open bool) (model.Time, error) {
	if open {
		s, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, bad(number, name, text, "s since 1970")
		}
		if !(s >= earliest && s <= latest) {
			return 0, &traces.DataError{Row: number, Column: name, Found: text, Expected: "s since 1970, from 2000 to 2100, as in OpenMetrics (# EOF)", Mend: mendTimes + "leave out the line # EOF if they are in ms"}
		}
		return model.Time(math.Round(float64(s * 1e6))), nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !isNumber(text) {
		return 0, bad(number, name, text, "ms since 1970")
	}
	if err != nil || ms < earliest*1000 || ms > latest*1000 {
		return 0, &traces.DataError{Row: number, Column: name, Found: text, Expected: "ms since 1970, whole, from 2000 to 2100, as in the text format of Prometheus",
			Mend: mendTimes + "OpenMetrics, whose times are in s, ends with the line # EOF, which may have been cut off"}
	}
	return model.Time(ms * 1000), nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// split takes a sample apart: the name, the labels, and what stands behind them.
func split(line string) (name string, labels map[string]string, rest string, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return "", nil, "", false
	}
	name, rest = line[:end], line[end:]
	trimmed := strings.TrimLeft(rest, " \t")
	labels = map[string]string{}
	if strings.HasPrefix(trimmed, "{") {
		var inside string
		if inside, rest, ok = braces(trimmed[1:], labels); !ok {
			return "", nil, "", false
		}
		if name == "" {
			name = inside
		}
	}
	return name, labels, rest, name != "" && isName(name)
}

// braces reads labels up to the brace behind them. A name in quotes may stand among them.
func braces(text string, labels map[string]string) (name, rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, " \t,")
		if text == "" {
			return "", "", false
		}
		if text[0] == '}' {
			return name, text[1:], true
		}
		key := ""
		if text[0] != '"' {
			end := strings.IndexByte(text, '=')
			if end < 0 {
				return "", "", false
			}
			key, text = strings.TrimSpace(text[:end]), strings.TrimLeft(text[end+1:], " \t")
		}
		value, after, quoted := quoted(text)
		if !quoted {
			return "", "", false
		}
		if text = strings.TrimLeft(after, " \t"); key == "" && strings.HasPrefix(text, "=") { // a name of a label in quotes
			key = value
			if value, text, quoted = quotedAfter(text[1:]); !quoted {
				return "", "", false
			}
		}
		if key == "" {
			name = value
		} else {
			labels[key] = value
		}
	}
}

func quotedAfter(text string) (value, rest string, ok bool) {
	return quoted(strings.TrimLeft(text, " \t"))
}

var unescaped = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")

// quoted reads a text in quotes.
func quoted(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return unescaped.Replace(text[1:i]), text[i+1:], true
		}
	}
	return "", "", false
}

func isName(name string) bool {
	for _, r := range name {
		if r <= ' ' || r == '"' || r == '{' || r == '}' || r == 0x7f {
			return false
		}
	}
	return true
}
