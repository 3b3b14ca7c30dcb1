package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// NodeKind is a kind of nodes of a cluster.
type NodeKind struct {
	Name    string  `json:"name"`
	GPUs    int     `json:"gpus"`              // of one node
	GPU     string  `json:"gpu,omitempty"`     // what they are called; "" where they have no name
	Islands [][]int `json:"islands,omitempty"` // GPUs from 0 that are joined by the fastest links; none: all alike
	Idle    int64   `json:"idle_w,omitempty"`  // of one node, 0 where it is not stated
	Busy    int64   `json:"busy_w,omitempty"`  // with all GPUs at work, likewise

	several bool // it stands for kinds that differ
}

// NodeRun is so many nodes of a kind with one home that stand behind each other in a group.
type NodeRun struct {
	Nodes int    `json:"nodes"`
	Kind  int    `json:"kind"`           // of ClusterPlan.Kinds
	Home  string `json:"home,omitempty"` // vCluster; "" for none
}

// NodeGroup is a network group.
type NodeGroup struct {
	Name string    `json:"name"`
	Runs []NodeRun `json:"runs"`
}

// ClusterPlan is what a picture of a cluster shows.
type ClusterPlan struct {
	Name   string      `json:"name"`
	Kinds  []NodeKind  `json:"kinds"`
	Groups []NodeGroup `json:"groups"`
}

// Limits of the picture of a cluster: of boxes, of cells, each of which is one node until
// there are more, of kinds, and of runs in all boxes, beyond which homes are not told apart.
const (
	mostBoxes = 48
	mostCells = 6000
	mostKinds = 24
	mostRuns  = 400
)

// Cluster draws the nodes of a cluster: a box for each network group, a cell for each node,
// coloured by its kind, with a dot for each GPU where there is room, and below a node of
// each kind. Where there are more groups than can be told apart, neighbours with nodes of the
// same kinds and homes share a box; where there are more nodes, a cell is several. Cost is
// linear in the groups.
func Cluster(p *ClusterPlan) *Figure {
	nodes, gpus, silent, idle, busy := p.sums()
	p = p.fewKinds()
	d := clusterDrawing{kinds: p.Kinds, groups: p.Groups, per: 1}
	f := &Figure{Name: "cluster", Title: p.Name + ": nodes by network group"}
	f.Note = fmt.Sprintf("%s nodes with %s GPUs", Count(int64(nodes)), Count(int64(gpus)))
	if busy > 0 {
		u := powerScale(float64(busy))
		f.Note += fmt.Sprintf("; they draw %s idle and %s at work", u.Says(float64(idle)), u.Says(float64(busy)))
		if silent > 0 {
			f.Note += fmt.Sprintf(" without the %s that do not state it", Count(int64(silent)))
		}
	}
	if len(d.groups) > mostBoxes {
		d.groups = joinGroups(d.groups)
		f.Note += fmt.Sprintf("; %s groups, of which neighbours alike share a box", Count(int64(len(p.Groups))))
	}
	if n := countRuns(d.groups); n > mostRuns {
		d.groups = withoutHomes(d.groups)
		f.Note += "; too many homes to tell them apart"
	}
	for nodes > d.per*mostCells {
		d.per++
	}
	d.cell = cellSize(nodes / d.per)
	if d.per > 1 {
		f.Note += fmt.Sprintf("; a cell is %s nodes, the last of each kind and home fewer", Count(int64(d.per)))
	} else {
		f.Note += "; a cell is a node"
	}
	if d.cell >= dottedCell && gpus > 0 {
		f.Note += ", a dot a GPU"
	}
	for i, k := range p.Kinds {
		f.legend = append(f.legend, entry{text: k.Name, color: kindColor(i), area: true})
	}
	around := 80 * pt
	f.height = around + d.layout(figureWidth-2*margin).height
	f.narrow = around + d.layout(narrowWidth-2*margin).height
	f.body = d.draw
	return f
}

// sums are over all nodes; silent ones state no power.
func (p *ClusterPlan) sums() (nodes, gpus, silent int, idle, busy int64) {
	for _, g := range p.Groups {
		for _, r := range g.Runs {
			k := &p.Kinds[r.Kind]
			nodes += r.Nodes
			gpus += r.Nodes * k.GPUs
			if k.Idle == 0 && k.Busy == 0 {
				silent += r.Nodes
			}
			idle += int64(r.Nodes) * k.Idle
			busy += int64(r.Nodes) * max(k.Busy, k.Idle)
		}
	}
	return nodes, gpus, silent, idle, busy
}

// fewKinds is a plan in which the kinds beyond those that can be told apart are one.
func (p *ClusterPlan) fewKinds() *ClusterPlan {
	if len(p.Kinds) <= mostKinds {
		return p
	}
	last := mostKinds - 1
	out := &ClusterPlan{Name: p.Name, Kinds: append([]NodeKind(nil), p.Kinds[:last]...)}
	out.Kinds = append(out.Kinds, NodeKind{Name: Count(int64(len(p.Kinds)-last)) + " other kinds", several: true})
	for _, g := range p.Groups {
		var runs joinedRuns
		for _, r := range g.Runs {
			r.Kind = min(r.Kind, last)
			runs.add(r)
		}
		out.Groups = append(out.Groups, NodeGroup{g.Name, runs.list})
	}
	return out
}

// joinGroups joins neighbours whose nodes are of the same kinds and homes. Where still too
// many are left, the last box has all the rest.
func joinGroups(in []NodeGroup) []NodeGroup {
	var out []NodeGroup
	var runs joinedRuns
	first, count := "", 0
	for _, g := range in {
		n := len(out)
		if joins := n > 0 && (n == mostBoxes || alike(out[n-1].Runs, g.Runs)); joins {
			count++
			out[n-1].Name = fmt.Sprintf("%s to %s (%s groups)", first, g.Name, Count(int64(count)))
		} else {
			first, count, runs = g.Name, 1, joinedRuns{}
			out, n = append(out, NodeGroup{Name: g.Name}), n+1
		}
		for _, r := range g.Runs {
			runs.add(r)
		}
		out[n-1].Runs = runs.list
	}
	return out
}

func countRuns(groups []NodeGroup) (n int) {
	for _, g := range groups {
		n += len(g.Runs)
	}
	return n
}

// withoutHomes adds up the nodes of a kind in each group.
func withoutHomes(in []NodeGroup) []NodeGroup {
	var out []NodeGroup
	for _, g := range in {
		var runs joinedRuns
		for _, r := range g.Runs {
			r.Home = ""
			runs.add(r)
		}
		out = append(out, NodeGroup{g.Name, runs.list})
	}
	return out
}

// alike says whether nodes of the same kinds and homes stand in both, in this order.
func alike(a, b []NodeRun) bool {
	return slices.EqualFunc(a, b, func(x, y NodeRun) bool { return x.Kind == y.Kind && x.Home == y.Home })
}

// joinedRuns adds up the nodes of a kind and a home.
type joinedRuns struct {
	list  []NodeRun
	index map[NodeRun]int // of the entry, with no nodes
}

func (j *joinedRuns) add(r NodeRun) {
	key := NodeRun{Kind: r.Kind, Home: r.Home}
	if j.index == nil {
		j.index = map[NodeRun]int{}
	}
	i, known := j.index[key]
	if !known {
		i = len(j.list)
		j.index[key], j.list = i, append(j.list, key)
	}
	j.list[i].Nodes += r.Nodes
}

// dottedCell is the smallest cell with room for dots.
const dottedCell = 17 * pt

func cellSize(cells int) vg.Length {
	switch {
	case cells <= 48:
		return 28 * pt
	case cells <= 300:
		return dottedCell
	case cells <= 1200:
		return 10 * pt
	}
	return 6.4 * pt
}

func kindColor(i int) color.NRGBA { return alpha(layerColors[i%len(layerColors)], 170) }

// clusterDrawing is what Cluster draws.
type clusterDrawing struct {
	kinds  []NodeKind
	groups []NodeGroup
	per    int       // nodes of a cell
	cell   vg.Length // and the gap behind it
}

// Distances in the picture of a cluster.
const (
	boxPad    = 6 * pt
	boxGap    = 8 * pt
	boxTitle  = 14 * pt
	runTitle  = 12 * pt
	kindRow   = 44 * pt
	kindWidth = 230 * pt
)

// nodeBox is the place of a group: from the top left, y downwards.
type nodeBox struct {
	x, y, w, h vg.Length
	columns    int
}

type clusterLayout struct {
	boxes  []nodeBox
	kinds  vg.Length // where the kinds begin
	across int       // kinds beside each other
	height vg.Length
}

func (d *clusterDrawing) cells(r *NodeRun) int { return (r.Nodes + d.per - 1) / d.per }

func (d *clusterDrawing) runLabel(r *NodeRun) string {
	s := Count(int64(r.Nodes)) + " × " + d.kinds[r.Kind].Name
	if r.Home != "" {
		s += ", home of " + r.Home
	}
	return s
}

// layout places the boxes in rows within room.
func (d *clusterDrawing) layout(room vg.Length) clusterLayout {
	var l clusterLayout
	x, y, high := vg.Length(0), vg.Length(0), vg.Length(0)
	for i := range d.groups {
		b := d.boxOf(&d.groups[i], room)
		if x > 0 && x+b.w > room {
			x, y, high = 0, y+high+boxGap, 0
		}
		b.x, b.y = x, y
		x, high = x+b.w+boxGap, max(high, b.h)
		l.boxes = append(l.boxes, b)
	}
	l.kinds = y + high + 2*boxGap
	l.across = max(1, int(room/kindWidth))
	rows := (len(d.kinds) + l.across - 1) / l.across
	l.height = l.kinds + runTitle + vg.Length(rows)*kindRow
	return l
}

// boxOf is the size of the box of a group.
func (d *clusterDrawing) boxOf(g *NodeGroup, room vg.Length) nodeBox {
	cells, wide := 0, sans(labelSize, Ink, true).Width(g.Name)
	for i := range g.Runs {
		cells += d.cells(&g.Runs[i])
		wide = max(wide, sans(tickSize, Muted, false).Width(d.runLabel(&g.Runs[i])))
	}
	inner := room - 2*boxPad
	most := max(1, int(inner/d.cell))
	b := nodeBox{columns: min(most, max(4, int(math.Ceil(math.Sqrt(float64(cells)*2)))))}
	if fits := int(min(wide*1.1, inner) / d.cell); fits > b.columns {
		b.columns = min(most, fits)
	}
	b.w = 2*boxPad + min(inner, max(vg.Length(min(b.columns, max(cells, 1)))*d.cell, 1.1*wide))
	b.h = 2*boxPad + boxTitle
	for i := range g.Runs {
		rows := (d.cells(&g.Runs[i]) + b.columns - 1) / b.columns
		b.h += runTitle + vg.Length(rows)*d.cell
	}
	return b
}

func (d *clusterDrawing) draw(c draw.Canvas) {
	l := d.layout(c.Max.X - c.Min.X)
	for i, b := range l.boxes {
		d.drawGroup(&c, &d.groups[i], b)
	}
	sty := sans(labelSize, Ink, true)
	sty.YAlign = -1
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y - l.kinds}, "One node of each kind")
	for i := range d.kinds {
		x := c.Min.X + vg.Length(i%l.across)*kindWidth
		y := c.Max.Y - l.kinds - runTitle - 4*pt - vg.Length(i/l.across)*kindRow
		d.drawKind(&c, i, x, y)
	}
}

func (d *clusterDrawing) drawGroup(c *draw.Canvas, g *NodeGroup, b nodeBox) {
	x, y := c.Min.X+b.x, c.Max.Y-b.y
	c.StrokeLines(draw.LineStyle{Color: Muted, Width: 0.8 * pt}, []vg.Point{{X: x, Y: y}, {X: x + b.w, Y: y}, {X: x + b.w, Y: y - b.h}, {X: x, Y: y - b.h}, {X: x, Y: y}})
	title, label := sans(labelSize, Ink, true), sans(tickSize, Muted, false)
	title.YAlign, label.YAlign = -1, -1
	x, y = x+boxPad, y-boxPad
	room := b.w - 2*boxPad
	c.FillText(title, vg.Point{X: x, Y: y}, fitted(g.Name, title, room))
	y -= boxTitle
	for i := range g.Runs {
		r := &g.Runs[i]
		c.FillText(label, vg.Point{X: x, Y: y}, fitted(d.runLabel(r), label, room))
		y -= runTitle
		n := d.cells(r)
		for k := range n {
			cx, cy := x+vg.Length(k%b.columns)*d.cell, y-vg.Length(k/b.columns)*d.cell
			side := d.cell - max(0.8*pt, d.cell/9)
			fill(c, cx, cy-side, cx+side, cy, kindColor(r.Kind))
			if d.cell >= dottedCell && d.per == 1 {
				drawDots(c, &d.kinds[r.Kind], cx, cy, side, side)
			}
		}
		y -= vg.Length((n+b.columns-1)/b.columns) * d.cell
	}
}

// drawKind draws one large node with what is known of it beside.
func (d *clusterDrawing) drawKind(c *draw.Canvas, i int, x, y vg.Length) {
	k := &d.kinds[i]
	const wide, high = 46 * pt, 34 * pt
	fill(c, x, y-high, x+wide, y, kindColor(i))
	drawDots(c, k, x, y, wide, high)
	sty, quiet := sans(tickSize, Ink, true), sans(tickSize, Muted, false)
	sty.YAlign, quiet.YAlign = -1, -1
	x, room := x+wide+6*pt, kindWidth-wide-12*pt
	for j, text := range k.says() {
		if j > 0 {
			sty = quiet
		}
		c.FillText(sty, vg.Point{X: x, Y: y}, fitted(text, sty, room))
		y -= 11.5 * pt
	}
}

// says is what is known of a kind, in three lines.
func (k *NodeKind) says() []string {
	out := []string{k.Name}
	if k.several {
		return append(out, "which differ", "")
	}
	switch n := len(k.islands()); {
	case k.GPUs == 0:
		out = append(out, "no GPUs")
	case n > 1:
		out = append(out, fmt.Sprintf("%s in %d islands", k.cards(), n))
	default:
		out = append(out, k.cards())
	}
	if k.Busy == 0 && k.Idle == 0 {
		return append(out, "power not stated")
	}
	watts := func(w int64) string { return powerScale(float64(w)).Says(float64(w)) }
	return append(out, fmt.Sprintf("%s idle, %s at work", watts(k.Idle), watts(k.Busy)))
}

// cards are the GPUs of a node, in words.
func (k *NodeKind) cards() string {
	if k.GPU == "" {
		return fmt.Sprintf("%d GPUs", k.GPUs)
	}
	return fmt.Sprintf("%d %s GPUs", k.GPUs, k.GPU)
}

// islands are those of the kind, one of all GPUs where none are stated.
func (k *NodeKind) islands() [][]int {
	if len(k.Islands) > 0 || k.GPUs == 0 {
		return k.Islands
	}
	all := make([]int, k.GPUs)
	for i := range all {
		all[i] = i
	}
	return [][]int{all}
}

// drawDots draws the GPUs of a node into a rectangle whose top left is x, y: each island is
// a white box of dots.
func drawDots(c *draw.Canvas, k *NodeKind, x, y, wide, high vg.Length) {
	islands := k.islands()
	if len(islands) == 0 || k.GPUs > 64 {
		return
	}
	band := (high - 3*pt) / vg.Length(len(islands))
	for i, gpus := range islands {
		top := y - 1.5*pt - vg.Length(i)*band
		left, w, h := x+1.5*pt, wide-3*pt, band-min(1.5*pt, band/4)
		fill(c, left, top-h, left+w, top, alpha(Paper, 190))
		columns := int(math.Ceil(math.Sqrt(float64(len(gpus)) * float64(w/h))))
		columns = max(1, min(columns, len(gpus)))
		rows := (len(gpus) + columns - 1) / columns
		stepX, stepY := w/vg.Length(columns), h/vg.Length(rows)
		radius := min(stepX, stepY, 9*pt) * 0.34
		for j := range gpus {
			at := vg.Point{X: left + (vg.Length(j%columns)+0.5)*stepX, Y: top - (vg.Length(j/columns)+0.5)*stepY}
			c.DrawGlyph(draw.GlyphStyle{Color: Ink, Radius: radius, Shape: draw.CircleGlyph{}}, at)
		}
	}
}
