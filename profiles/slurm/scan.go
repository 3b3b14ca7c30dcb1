package slurm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"orrery/scheduler/model"
)

// pair is one option.
type pair struct {
	key, value string
	line       int
}

func (p pair) is(name string) bool { return strings.EqualFold(p.key, name) }

// line is what stands on one line of a file, continued ones joined.
type line struct {
	number int
	pairs  []pair
}

// around matches the signs that join a key to its value; those of += and the
// like are kept with the key.
var around = regexp.MustCompile(`[ \t]*=[ \t]*`)

// scan reads the lines of a file of the syntax of slurm.conf.
func scan(src Source) ([]line, error) {
	var out []line
	in := bufio.NewScanner(io.LimitReader(src.Reader, maxFile))
	in.Buffer(nil, maxFile)
	var joined strings.Builder // of a line and those that it is continued by
	first, number := 0, 0
	for in.Scan() {
		number++
		text := uncommented(in.Text())
		if joined.Len() == 0 {
			first = number
		}
		if more, ok := strings.CutSuffix(text, `\`); ok {
			joined.WriteString(more)
			joined.WriteByte(' ')
			continue
		}
		joined.WriteString(text)
		l, err := split(joined.String(), first)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", src.Name, first, err)
		}
		if len(l.pairs) > 0 {
			out = append(out, l)
		}
		joined.Reset()
	}
	if strings.TrimSpace(joined.String()) != "" {
		return nil, fmt.Errorf("%s:%d: the last line ends in \\ and nothing follows", src.Name, first)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	return out, nil
}

// uncommented is a line up to its # that no \ stands before.
func uncommented(text string) string {
	for i := 0; i < len(text); i++ {
		if text[i] == '#' && (i == 0 || text[i-1] != '\\') {
			text = text[:i]
		}
	}
	return strings.TrimRight(strings.ReplaceAll(text, `\#`, "#"), " \t\r")
}

func split(text string, number int) (line, error) {
	l := line{number: number}
	if !utf8.ValidString(text) {
		return l, errors.New("found bytes that are not UTF-8")
	}
	if word, rest, _ := strings.Cut(strings.TrimSpace(text), " "); strings.EqualFold(word, "include") {
		return l, fmt.Errorf("include %s: files that a file names are not read; put its lines in place of this one", strings.TrimSpace(rest))
	}
	rest := strings.TrimSpace(around.ReplaceAllString(text, "="))
	for rest != "" {
		key, after, ok := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || strings.ContainsAny(key, " \t\"") {
			return l, fmt.Errorf("found %q, want options like Key=Value", rest)
		}
		value := ""
		if strings.HasPrefix(after, `"`) {
			value, after, ok = strings.Cut(after[1:], `"`)
			if !ok {
				return l, fmt.Errorf("%s: its \" has no end", key)
			}
		} else if i := strings.IndexAny(after, " \t"); i >= 0 {
			value, after = after[:i], after[i:]
		} else {
			value, after = after, ""
		}
		l.pairs = append(l.pairs, pair{key, value, number})
		rest = strings.TrimSpace(after)
	}
	return l, nil
}

// maxSpan bounds spans of time, in minutes: a hundred years.
const maxSpan = 100 * 365 * 24 * 60

// span reads a time of Slurm: minutes, minutes:seconds, hours:minutes:seconds,
// days-hours, days-hours:minutes or days-hours:minutes:seconds. endless is set
// for INFINITE and UNLIMITED.
func span(text string) (d model.Duration, endless bool, err error) {
	switch strings.ToUpper(text) {
	case "INFINITE", "UNLIMITED", "-1":
		return 0, true, nil
	}
	bad := fmt.Errorf("found the time %q, want minutes, hours:minutes:seconds or days-hours:minutes:seconds", text)
	days, rest, dated := strings.Cut(text, "-")
	if !dated {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	scale := []model.Duration{model.Minute, model.Second}
	if dated || len(parts) == 3 {
		scale = []model.Duration{model.Hour, model.Minute, model.Second}
	}
	if len(parts) > len(scale) {
		return 0, false, bad
	}
	add := func(digits string, unit model.Duration) bool {
		n := int64(0)
		for _, r := range digits {
			if r < '0' || r > '9' || n > maxSpan*60 {
				return false
			}
			n = n*10 + int64(r-'0')
		}
		if digits == "" || n > maxSpan*int64(model.Minute)/int64(unit) {
			return false
		}
		d += model.Duration(n) * unit
		return true
	}
	ok := add(days, model.Day)
	for i, p := range parts {
		ok = ok && add(p, scale[i])
	}
	if !ok {
		return 0, false, bad
	}
	return d, false, nil
}

// written is d as Slurm writes it, in whole seconds.
func written(d model.Duration) string {
	s := int64(d / model.Second)
	return fmt.Sprintf("%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}
