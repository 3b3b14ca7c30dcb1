package traces

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"orrery/internal/pagecheck"
)

// cursor reads one column of the jobs table from its typed pages, without an
// allocation for each value. A column that the file lacks yields nulls.
type cursor struct {
	file   *parquet.File
	path   string
	column Column
	lay    lay
	base   int64 // the epoch for instants, else 0: subtracted from every value
	check  *pagecheck.Checker

	group int   // next row group
	left  int64 // rows of the open group not yet in a page
	pages parquet.Pages
	page  parquet.Page
	view  pageView
	row   int64 // rows delivered

	values parquet.ValueReader // of the open page, of kinds that pageView does not hold
	buf    []parquet.Value
}

// pageView is the open page, taken apart once. Values and indexes count the
// non-null rows only.
type pageView struct {
	rows   int    // rows left
	levels []byte // of the rows left: 0 is null; nil when the page has no null
	empty  bool   // every row is null
	i64    []int64
	i32    []int32
	index  []int32 // into dict64, dict32 or text; nil when the page has no dictionary
	dict64 []int64
	dict32 []int32
	text   texts
	dict   parquet.Dictionary // whose values dict64, dict32 or text holds

	oddPage, oddDict bool // some value is reserved or out of range: look at each
}

// texts is a run of byte strings.
type texts struct {
	data    []byte
	offsets []uint32
	ids     []int32 // of a dictionary: interned id of each, unassigned until it is met
}

func (t *texts) at(i int32) []byte { return t.data[t.offsets[i]:t.offsets[i+1]] }

// need makes sure that the view holds at least one row.
func (c *cursor) need() error {
	for c.view.rows == 0 {
		if c.pages == nil {
			groups := c.file.RowGroups()
			if c.group == len(groups) {
				return corrupt(c.path, "in column "+c.column.Name, "the rows end early")
			}
			pages, err := chunkPages(c.check, c.group, &c.lay, c.path, c.column.Name)
			if err != nil {
				return err
			}
			c.pages, c.left = pages, groups[c.group].NumRows()
			c.group++
		}
		parquet.Release(c.page) // all of it was read, and the next one may have its memory
		c.page = nil
		page, err := readPage(c.pages, c.path, c.column.Name)
		if errors.Is(err, io.EOF) {
			c.closePages()
			if c.left != 0 {
				return corrupt(c.path, "in column "+c.column.Name, fmt.Errorf("a row group lacks %d rows", c.left))
			}
			continue
		}
		if err != nil {
			return err
		}
		c.page = page
		if err := c.open(page); err != nil {
			return err
		}
		if c.left -= int64(c.view.rows); c.left < 0 {
			return corrupt(c.path, "in column "+c.column.Name, fmt.Errorf("a row group has %d rows too many", -c.left))
		}
	}
	return nil
}

func (c *cursor) closePages() {
	if c.pages == nil {
		return
	}
	parquet.Release(c.page)
	c.page = nil
	c.view = pageView{text: texts{ids: c.view.text.ids}}
	_ = c.pages.Close() // read only
	c.pages = nil
}

// open takes the page apart.
func (c *cursor) open(page parquet.Page) (err error) {
	defer guard(c.path, "in column "+c.column.Name, &err)
	v := &c.view
	v.rows, v.levels = int(page.NumRows()), nil
	nulls := 0
	if c.lay.optional {
		nulls = int(page.NumNulls())
	}
	v.empty = nulls > 0 && nulls == v.rows
	if c.column.Type == Bool || c.column.Type == Double {
		c.values = page.Values()
		return nil
	}
	if nulls > 0 {
		v.levels = page.DefinitionLevels()
	}
	filled := v.rows - nulls
	data := page.Data()
	v.i64, v.i32, v.index = nil, nil, nil
	if d := page.Dictionary(); d != nil {
		v.index = data.Int32()[:filled]
		if d != v.dict {
			v.dict = d
			c.openDictionary(d)
		}
		return nil
	}
	switch c.lay.kind {
	case parquet.Int64:
		v.i64 = data.Int64()[:filled]
		v.oddPage = c.odd64(v.i64)
	case parquet.Int32:
		v.i32 = data.Int32()[:filled]
		v.oddPage = slices.Contains(v.i32, Absent)
	case parquet.ByteArray:
		v.dict = nil
		v.text.data, v.text.offsets = data.ByteArray()
		if len(v.text.offsets) <= filled {
			return corrupt(c.path, "in column "+c.column.Name, "a page with too few values")
		}
		v.text.offsets = v.text.offsets[:filled+1]
	}
	return nil
}

func (c *cursor) openDictionary(d parquet.Dictionary) {
	v, page := &c.view, d.Page()
	data := page.Data()
	switch c.lay.kind {
	case parquet.Int64:
		v.dict64 = data.Int64()[:d.Len()]
		v.oddDict = c.odd64(v.dict64)
	case parquet.Int32:
		v.dict32 = data.Int32()[:d.Len()]
		v.oddDict = slices.Contains(v.dict32, Absent)
	case parquet.ByteArray:
		v.text.data, v.text.offsets = data.ByteArray()
		v.text.unassign(d.Len())
	}
}

// odd64 says whether some value needs a closer look.
func (c *cursor) odd64(values []int64) bool {
	if c.column.Type != Timestamp && !c.column.span() {
		return slices.Contains(values, math.MinInt64)
	}
	for _, n := range values {
		if !finite(n) {
			return true
		}
	}
	return false
}

const unassigned int32 = -2

func (t *texts) unassign(n int) {
	if cap(t.ids) < n {
		t.ids = make([]int32, n)
	}
	t.ids = t.ids[:n]
	fill(t.ids, unassigned)
}

// take removes the next n rows from the view after a fill consumed used
// values.
func (c *cursor) take(n, used int) {
	v := &c.view
	v.rows -= n
	c.row += int64(n)
	if v.levels != nil {
		v.levels = v.levels[n:]
	}
	switch {
	case v.index != nil:
		v.index = v.index[used:]
	case v.i64 != nil:
		v.i64 = v.i64[used:]
	case v.i32 != nil:
		v.i32 = v.i32[used:]
	default:
		v.text.offsets = v.text.offsets[used:]
	}
}

// int64s fills dst with the next rows of c, nulls as absent, the smallest
// number.
func int64s[T ~int64](c *cursor, dst []T) (err error) {
	const absent = math.MinInt64
	defer guard(c.path, "in column "+c.column.Name, &err)
	if c.lay.index < 0 {
		fill(dst, absent)
		return nil
	}
	for len(dst) > 0 {
		if err := c.need(); err != nil {
			return err
		}
		v := &c.view
		n := min(len(dst), v.rows)
		base, look := T(c.base), c.look()
		if look {
			base = 0 // settle subtracts it
		}
		var used int
		switch {
		case v.empty:
			fill(dst[:n], absent)
		case v.index != nil && c.lay.kind == parquet.Int64:
			used = lookup(dst[:n], v.dict64, v.index, v.levels, base, absent)
		case v.index != nil:
			used = lookup(dst[:n], v.dict32, v.index, v.levels, base, absent)
		case c.lay.kind == parquet.Int64:
			used = spread(dst[:n], v.i64, v.levels, base, absent)
		default:
			used = spread(dst[:n], v.i32, v.levels, base, absent)
		}
		if err := c.required(n - used); err != nil {
			return err
		}
		if look {
			if err := settle(c, dst[:n]); err != nil {
				return err
			}
		}
		c.take(n, used)
		dst = dst[n:]
	}
	return nil
}

// look says whether the values of the open page need settle.
func (c *cursor) look() bool {
	l, v := &c.lay, &c.view
	if v.index != nil && v.oddDict || v.index == nil && v.oddPage {
		return true
	}
	return l.mul != 1 || l.div != 1 || l.unsigned || (c.column.Type == Int32) != (l.kind == parquet.Int32)
}

// required refuses nulls where there may be none.
func (c *cursor) required(nulls int) error {
	if nulls == 0 || c.column.Optional {
		return nil
	}
	return nullError(c.path, c.column.Name, c.row+int64(slices.Index(c.view.levels, 0))+1)
}

// settle converts units and signs and refuses what is out of range.
func settle[T ~int32 | ~int64](c *cursor, dst []T) error {
	for i, raw := range dst {
		if c.isNull(i) {
			continue
		}
		n, ok := c.lay.number(int64(raw), c.column.Type)
		if !ok || c.column.span() && !finite(n) {
			return rangeError(c.path, &c.column, c.row+int64(i)+1, strconv.FormatInt(int64(raw), 10))
		}
		dst[i] = T(n - c.base)
	}
	return nil
}

func (c *cursor) isNull(i int) bool { return c.view.levels != nil && c.view.levels[i] == 0 }

// int32s fills dst with the next rows, nulls as Absent. Columns stored in 64
// bits go through wide.
func (c *cursor) int32s(dst []int32, wide []int64) (err error) {
	defer guard(c.path, "in column "+c.column.Name, &err)
	if c.lay.index < 0 {
		fill(dst, Absent)
		return nil
	}
	if c.lay.kind != parquet.Int32 || c.lay.unsigned {
		wide = wide[:len(dst)]
		if err := int64s(c, wide); err != nil {
			return err
		}
		for i, n := range wide {
			dst[i] = Absent
			if n != math.MinInt64 {
				dst[i] = int32(n)
			}
		}
		return nil
	}
	for len(dst) > 0 {
		if err := c.need(); err != nil {
			return err
		}
		v := &c.view
		n := min(len(dst), v.rows)
		var used int
		switch {
		case v.empty:
			fill(dst[:n], Absent)
		case v.index != nil:
			used = lookup(dst[:n], v.dict32, v.index, v.levels, 0, Absent)
		default:
			used = spread(dst[:n], v.i32, v.levels, 0, Absent)
		}
		if c.look() {
			if err := settle(c, dst[:n]); err != nil {
				return err
			}
		}
		c.take(n, used)
		dst = dst[n:]
	}
	return nil
}

// ids fills dst with the interned ids of the next rows, -1 for nulls and empty
// text. Ids are given in the order of first appearance, whatever the order of
// a dictionary.
func (c *cursor) ids(dst []int32, in *interner) (err error) {
	defer guard(c.path, "in column "+c.column.Name, &err)
	if c.lay.index < 0 {
		fill(dst, -1)
		return nil
	}
	for len(dst) > 0 {
		if err := c.need(); err != nil {
			return err
		}
		v := &c.view
		n := min(len(dst), v.rows)
		used, rows := 0, dst[:n]
		if v.empty {
			fill(rows, -1)
			rows = nil
		}
		for i := range rows {
			if v.levels != nil && v.levels[i] == 0 {
				dst[i] = -1
				continue
			}
			if v.index == nil {
				dst[i] = in.id(v.text.at(int32(used)))
			} else {
				dst[i] = v.text.id(v.index[used], in)
			}
			used++
		}
		c.take(n, used)
		dst = dst[n:]
	}
	return nil
}

// id interns entry k of a dictionary.
func (t *texts) id(k int32, in *interner) int32 {
	id := t.ids[k]
	if id == unassigned {
		id = in.id(t.at(k))
		t.ids[k] = id
	}
	return id
}

// interner gives dense ids to names.
type interner struct {
	names []string
	ids   map[string]int32
}

func (in *interner) id(b []byte) int32 {
	if len(b) == 0 {
		return -1
	}
	if id, ok := in.ids[string(b)]; ok {
		return id
	}
	id, s := int32(len(in.names)), string(b)
	in.names = append(in.names, s)
	in.ids[s] = id
	return id
}

func fill[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// spread copies values, less base, to the rows that are not null and returns
// how many it used.
func spread[D, S ~int32 | ~int64](dst []D, values []S, levels []byte, base, absent D) int {
	if levels == nil {
		values = values[:len(dst)]
		for i := range dst {
			dst[i] = D(values[i]) - base
		}
		return len(dst)
	}
	used := 0
	for i, l := range levels[:len(dst)] {
		if l == 0 {
			dst[i] = absent
			continue
		}
		dst[i] = D(values[used]) - base
		used++
	}
	return used
}

// lookup is spread for values behind a dictionary.
func lookup[D, S ~int32 | ~int64](dst []D, values []S, index []int32, levels []byte, base, absent D) int {
	if levels == nil {
		index = index[:len(dst)]
		for i := range dst {
			dst[i] = D(values[index[i]]) - base
		}
		return len(dst)
	}
	used := 0
	for i, l := range levels[:len(dst)] {
		if l == 0 {
			dst[i] = absent
			continue
		}
		dst[i] = D(values[index[used]]) - base
		used++
	}
	return used
}
