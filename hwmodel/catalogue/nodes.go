package catalogue

// Sources of figures of nodes.
const (
	inference = "mlcommons/inference_results_v4.1, wall power of one node at 1 Hz"
	training  = "mlcommons/training_results_v4.1, power of eight Dell XE9680"
	cloudBlog = "supercluster.blog"
)

func node(name, title, model string, count float64, lists ...[]Figure) Part {
	p := Part{Name: name, Kind: Node, Title: title, GPU: model, Figures: figures(DataSheet, vendor, of(GPUs, count))}
	for _, l := range lists {
		p.Figures = append(p.Figures, l...)
	}
	return p
}

// nodes are dated November 2026. Watts are those of the whole node at the wall, but for the
// nameplate, which is what it may draw at most.
var nodes = []Part{
	node("dgx-a100", "NVIDIA DGX A100", "a100-sxm-80", 8, figures(DataSheet, vendor, of(Nameplate, 6500).doubted("there are nodes with 40 GB a GPU as well"))),
	node("dgx-h100", "NVIDIA DGX H100", "h100-sxm", 8, figures(Published, cloudBlog, of(Nameplate, 10200))),
	node("dgx-b200", "NVIDIA DGX B200", "b200-sxm", 8, figures(DataSheet, vendor, of(Nameplate, 14300))),
	node("xe9680-h100", "Dell XE9680, 8 H100 SXM", "h100-sxm", 8, figures(Measured, training, Figure{Name: BusyPower, Unit: "W", Value: 7020, Low: 6580, High: 8120, Doubt: "of Llama 2 70B LoRA alone: means of runs 6,740 to 7,300, of nodes 6,580 to 8,120"})),
	node("8xh200-air", "8 H200 SXM, two Xeon 8480C, air cooled", "h200-sxm", 8, figures(Measured, inference,
		Figure{Name: IdlePower, Unit: "W", Value: 2390, Low: 2380, High: 2530, Doubt: "one node, 21 logs"},
		between(BusyPower, 4600, 6300).doubted("under 21 loads of inference in a power-saving mode, one node"))),
	node("frontier", "Frontier: 4 MI250X, one CPU", "mi250x", 4, figures(Published, raps,
		of(IdlePower, 626).doubted("before losses of conversion (about 6 %); a model, parts within 5 %"),
		of(BusyPower, 2704).doubted("the most it draws, before losses of conversion; a model, parts within 5 %"))),
}
