package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/scheduler/model"
)

// Parsed is a flag whose text a function turns into fields of a spec. It keeps
// the text, for verify to pass on and for --print-config to show.
type Parsed struct {
	text  string
	kind  string // what help shows for the value
	parse func(string) error
}

// NewParsed is a flag that reads text at first; kind is what help shows for its value.
func NewParsed(text, kind string, parse func(string) error) *Parsed {
	return &Parsed{text, kind, parse}
}

// Set implements pflag.Value.
func (p *Parsed) Set(s string) error {
	s = strings.TrimSpace(s)
	if err := p.parse(s); err != nil {
		return err
	}
	p.text = s
	return nil
}

// String implements pflag.Value.
func (p *Parsed) String() string { return p.text }

// Type implements pflag.Value.
func (p *Parsed) Type() string { return p.kind }

// Span returns a value that reads a duration of at least 0.
func Span(d *model.Duration, text string) *Parsed {
	return NewParsed(text, "DUR", func(s string) (err error) {
		*d, err = ParseSpan(s)
		return err
	})

}

// sizeValue returns a value that reads a number of bytes of at least 4 KiB, with its unit.
func sizeValue(n *int64) *Parsed {
	return NewParsed(fmt.Sprintf("%dMiB", *n>>20), "SIZE", func(s string) error {
		size, err := profiles.ParseBytes(s)
		if err == nil && (size < 4<<10 || size > 4<<30) {
			err = fmt.Errorf("want 4KiB to 4GiB")
		}
		if err == nil {
			*n = int64(size)
		}
		return err
	})

}

// ParseSpan reads a duration that is finite and not negative.
func ParseSpan(s string) (model.Duration, error) {
	d, err := model.ParseDuration(s)
	if err == nil && (d < 0 || d == model.Forever) {
		err = fmt.Errorf("want a duration that is finite and not negative, such as 90s or 1h30m")
	}
	return d, err
}

// once is the value of a flag that may be given one time: the last of several
// would win in silence. The same value again changes nothing; completion parses the
// words of a line twice.
type once struct {
	pflag.Value
	given bool
	text  string // as it was given
}

// Set implements pflag.Value.
func (o *once) Set(s string) error {
	if o.given && s != o.text {
		return fmt.Errorf("it was given as %s already: give it once", o.Value.String())
	}
	if err := o.Value.Set(s); err != nil {
		return err
	}
	o.given, o.text = true, s
	return nil
}

// OnlyOnce lets the flags that hold one value be given once. Switches and lists
// may be repeated.
func OnlyOnce(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue)
		_, already := f.Value.(*once)
		if !list && !already && f.NoOptDefVal == "" {
			f.Value = &once{Value: f.Value}
		}
	})
}

// Choice is a flag whose value is one of a few words.
type Choice struct {
	Word *string
	Of   []string
	also []string // spellings that are accepted and not advertised
	What string   // the singular noun of what is chosen
}

// Set implements pflag.Value.
func (c Choice) Set(s string) error {
	word := strings.ToLower(strings.TrimSpace(s))
	if !slices.Contains(c.Of, word) && !slices.Contains(c.also, word) {
		return fmt.Errorf("unknown %s%s: want %s", c.What, spelling.Hint(word, c.Of), OneOf(c.Of))
	}
	*c.Word = word
	return nil
}

// String implements pflag.Value.
func (c Choice) String() string {
	if c.Word == nil {
		return ""
	}
	return *c.Word
}

// Type implements pflag.Value: it is what help shows for the value.
func (c Choice) Type() string { return strings.Join(c.Of, "|") }

// OneOf joins words like "a, b or c".
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// QuotedAll are paths as words of a command.
func QuotedAll(paths []string) string {
	words := make([]string, len(paths))
	for i, p := range paths {
		words[i] = Quoted(p)
	}
	return strings.Join(words, " ")
}

// Quoted is a path as a shell takes it.
func Quoted(path string) string {
	if path != "" && !strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:=@%,", r)
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
