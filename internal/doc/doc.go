// Package doc is what every page, summary and comment is made of: a document of sections, and in
// them paragraphs, tables, figures by name, notes and facts. It knows neither how a document is
// written (reports/page, reports/table) nor what one is about.
package doc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Document is a page. All its texts are plain: what users wrote may stand in them as they wrote it.
type Document struct {
	Title    string
	Head     []Part // before the list of sections
	Sections []Section
	By       string // the command that draws it, for the foot
}

// Section is a part of a document under a title.
type Section struct {
	ID    string `json:"-"` // by which a link finds it
	Title string `json:"title"`
	Link  string `json:"-"` // its name in the list of sections, where that is not the title
	Parts []Part `json:"parts"`
}

// Role is what a text is.
type Role uint8

// The roles.
const (
	Paragraph Role = iota
	Lead           // the paragraph that says most
	Heading        // of what follows
	Verbatim       // lines as they are
)

// Part is one of: a text, a table, figures, what is folded, a list of warnings, tiles, facts, or
// what a page has in this place for its script.
type Part struct {
	Text string `json:"text,omitempty"`
	Role Role   `json:"-"`
	Word string `json:"-"` // a verdict before the text
	Tone Tone   `json:"-"` // of the word
	Code string `json:"-"` // behind the text, as it is to be typed

	*Table
	Most int `json:"-"` // rows that are shown at once; 0 is all

	ID      string   `json:"-"` // of a heading, of what is folded, or of the parts together
	Fold    string   `json:"-"` // what stands before parts that are folded
	Parts   []Part   `json:"-"`
	Open    bool     `json:"-"` // not folded at first
	Figures []string `json:"-"` // by name
	Notes   []string `json:"-"` // what to know before trusting the rest
	Tiles   []Tile   `json:"-"`
	Facts   []Fact   `json:"-"`
	Slot    string   `json:"-"`
}

// Tile is one of the few figures that are shown large.
type Tile struct {
	Value  string `json:"value"`
	Label  string `json:"label"`
	Good   bool   `json:"good,omitempty"` // the change, or the value without one
	Bad    bool   `json:"bad,omitempty"`
	From   string `json:"-"` // what it was before
	Change string `json:"-"`
}

// Fact is a name and what there is to say of it.
type Fact struct {
	Name  string   `json:"name"`
	Value string   `json:"value"`
	More  []string `json:"-"`
}

// Say is a paragraph.
func Say(format string, args ...any) Part { return Part{Text: fmt.Sprintf(format, args...)} }

// Show is a table.
func Show(t *Table) Part { return Part{Table: t} }

// Titled is a heading.
func Titled(text string) Part { return Part{Text: text, Role: Heading} }

// empty says that a part shows nothing.
func (p *Part) empty() bool {
	return p.Text == "" && p.Word == "" && p.Code == "" && (p.Table == nil || p.Len() == 0) && len(p.Figures)+len(p.Notes)+len(p.Tiles)+len(p.Facts) == 0 && p.Slot == "" &&
		!slices.ContainsFunc(p.Parts, func(q Part) bool { return !q.empty() })
}

// Shown are the parts that show something.
func Shown(parts ...Part) []Part {
	return slices.DeleteFunc(parts, func(p Part) bool { return p.empty() })
}

// Add appends a section, without the parts that are empty, and returns it until the next is added.
// One whose tables are all empty, and that has but texts beside them, is left out: the one returned
// is then of no document.
func (d *Document) Add(id, title string, parts ...Part) *Section {
	wordy := func(p Part) bool { return p.Text != "" }
	some := slices.ContainsFunc(parts, wordy) && !slices.ContainsFunc(parts, func(p Part) bool { return !wordy(p) })
	if !some && !slices.ContainsFunc(parts, func(p Part) bool { return !wordy(p) && !p.empty() }) {
		return &Section{}
	}
	d.Sections = append(d.Sections, Section{ID: id, Title: title, Parts: Shown(parts...)})
	return &d.Sections[len(d.Sections)-1]
}

// Digits writes a number to so many digits, and never with an exponent: what is beyond the digits of
// a large one is rounded to ones, and what is below 1e-9 is 0.
func Digits(v float64, digits int) string {
	large := 1.0
	for range digits {
		large = float64(large * 10)
	}
	switch a := math.Abs(v); {
	case math.IsNaN(v), math.IsInf(v, 0):
		return "-"
	case a < 1e-9:
		return "0"
	case a >= large:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64) // which is a number
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Chance writes a p-value.
func Chance(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return Digits(p, 2)
}
