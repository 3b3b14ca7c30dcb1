package slurm

import (
	"fmt"
	"strconv"
	"strings"

	"orrery/profiles"
)

// terms splits a list at the commas outside of brackets.
func terms(list string) []string {
	var out []string
	depth, begin := 0, 0
	for i, r := range list {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth <= 0:
			out = append(out, list[begin:i])
			begin = i + 1
		}
	}
	out = append(out, list[begin:])
	kept := out[:0]
	for _, t := range out {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

// maxNames bounds the names that all options of all files list together.
const maxNames = 4 * profiles.MaxNodes

// expand lists the names of a host list like n[001-087,90],m1.
func (c *converter) expand(list string) ([]string, error) {
	var out []string
	for _, term := range terms(list) {
		names, err := expandTerm(term, min(profiles.MaxNodes, maxNames-c.named))
		if err != nil {
			return nil, fmt.Errorf("found the names %q: %w", term, err)
		}
		c.named += len(names)
		out = append(out, names...)
	}
	return out, nil
}

func expandTerm(term string, most int) ([]string, error) {
	names := []string{""}
	for rest := term; rest != ""; {
		open := strings.IndexByte(rest, '[')
		if open < 0 {
			open = len(rest)
		}
		head := rest[:open]
		inside, after, ok := "", "", true
		if open < len(rest) {
			inside, after, ok = strings.Cut(rest[open+1:], "]")
		}
		if !ok || strings.ContainsAny(head, "]") {
			return nil, fmt.Errorf("brackets that do not match")
		}
		var numbers = []string{""}
		if open < len(rest) {
			var err error
			if numbers, err = numbersOf(inside, most/len(names)); err != nil {
				return nil, err
			}
		}
		next := make([]string, 0, len(names)*len(numbers))
		for _, name := range names {
			for _, number := range numbers {
				next = append(next, name+head+number)
			}
		}
		names, rest = next, after
		if len(term)*len(names) > 1<<28 {
			return nil, fmt.Errorf("too many names")
		}
	}
	return names, nil
}

// numbersOf lists the numbers of 001-087,90.
func numbersOf(list string, most int) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		a, errA := strconv.ParseUint(low, 10, 31)
		b, errB := strconv.ParseUint(high, 10, 31)
		switch {
		case errA != nil || errB != nil || b < a:
			return nil, fmt.Errorf("the range %q is not like 001-087", part)
		case int64(b-a) >= int64(most-len(out)):
			return nil, fmt.Errorf("more than %d names, or too many in all", profiles.MaxNodes)
		}
		for n := a; n <= b; n++ {
			out = append(out, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return out, nil
}

// compress writes names as few terms, in their order: runs of numbers become
// ranges.
func compress(names []string) []string {
	var out []string
	for i := 0; i < len(names); {
		head, digits, tail := numbered(names[i])
		j := i + 1
		for last := digits; digits != "" && j < len(names); j++ {
			h, d, t := numbered(names[j])
			if h != head || t != tail || d != successor(last) {
				break
			}
			last = d
		}
		if j-i == 1 {
			out = append(out, names[i])
		} else {
			_, high, _ := numbered(names[j-1])
			out = append(out, head+"["+digits+"-"+high+"]"+tail)
		}
		i = j
	}
	return out
}

// numbered cuts a name around its last number of at most nine digits.
func numbered(name string) (head, digits, tail string) {
	end := strings.LastIndexAny(name, "0123456789") + 1
	begin := end
	for begin > 0 && end-begin < 9 && name[begin-1] >= '0' && name[begin-1] <= '9' {
		begin--
	}
	return name[:begin], name[begin:end], name[end:]
}

// successor is the next number of the same width, or one digit more.
func successor(digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%0*d", len(digits), n+1)
}
