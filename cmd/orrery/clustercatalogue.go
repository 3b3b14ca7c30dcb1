package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"orrery/hwmodel/catalogue"
	"orrery/internal/doc"
	"orrery/internal/spelling"
)

func (m *Main) clusterCatalogueCommand() *cobra.Command {
	var print *printer
	cmd := &cobra.Command{
		Use:   "catalogue [NAME]",
		Short: "List what is known of GPUs, nodes and classes of work, with sources",
		Long: `List the GPUs and the kinds of nodes of which figures are known: memory, bandwidth,
peaks, links, power; and classes of work, with their throughput by GPU and under caps on
power. A cluster file takes them by "from" of a node type or a class. With NAME, each figure of one of them with its range, with what it
rests on (measured, published, data sheet), where it is from and what speaks against it.
What is not known is not listed. docs/HARDWARE.md has more.

Exit codes: 0 printed, 2 usage.`,
		Example: `  orrery cluster catalogue
  orrery cluster catalogue h100-sxm
  orrery cluster catalogue dgx-h100 -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstWordOrFile(catalogue.Names()...),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if print.json() {
					return print.document(catalogue.All())
				}
				return print.table(partsTable(catalogue.All()))
			}
			p, found := catalogue.Find(args[0])
			if !found {
				return usagef("there is no %q in the catalogue%s: see orrery cluster catalogue", args[0], spelling.Hint(args[0], catalogue.Names()))
			}
			if print.json() {
				return print.document(p)
			}
			return print.section(title(&p), figuresTable(&p))
		},
	}
	print = m.printFlag(cmd)
	return cmd
}

// title of a part, with the model of the GPUs of a node.
func title(p *catalogue.Part) string {
	if p.GPU == "" {
		return p.Title
	}
	return p.Title + " (GPUs: " + p.GPU + ")"
}

// inShort are the figures that the list of all parts has.
var inShort = []string{catalogue.GPUs, catalogue.Memory, catalogue.Bandwidth, catalogue.FP64, catalogue.FP16, catalogue.FP8, catalogue.Link, catalogue.PowerLimit, catalogue.Nameplate, catalogue.IdlePower, catalogue.BusyPower}

// partsTable is a table of all parts; an empty cell is not known.
func partsTable(parts []catalogue.Part) *doc.Table {
	t := doc.New(append([]string{"name", "what"}, inShort...)...)
	for i := range parts {
		row := []any{parts[i].Name, title(&parts[i])}
		for _, name := range inShort {
			f, known := parts[i].Figure(name)
			if !known {
				row = append(row, doc.Cell{})
				continue
			}
			row = append(row, doc.Quantity(plain(f.Value), f.Value))
		}
		t.Row(row...)
	}
	return t
}

// figuresTable has all that is known of a part.
func figuresTable(p *catalogue.Part) *doc.Table {
	t := doc.New("figure", "unit", "value", "from", "to", "basis", "source", "doubt").Optional("from", "to")
	for _, f := range p.Figures {
		from, to := doc.Cell{}, doc.Cell{}
		if f.Low < f.High {
			from, to = doc.Quantity(plain(f.Low), f.Low), doc.Quantity(plain(f.High), f.High)
		}
		t.Row(f.Name, f.Unit, doc.Quantity(plain(f.Value), f.Value), from, to, string(f.Basis), f.Source, f.Doubt)
	}
	return t
}

// plain writes a figure as it is given.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
