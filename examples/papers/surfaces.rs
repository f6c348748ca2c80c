//! Surfaces, their ratio and their contours: Figures 3 to 7 of the Apex-Map paper on two hypothetical machines.

use super::Drawn;
use apexmap_base::error::Result;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{Figure, Grid, Panels, Quantity, RatioForm, Ratios, View};
use apexmap_draw::plot::{self, FigureKind, Request};
use apexmap_results::table::columns::{ALPHA, BLOCK};
use apexmap_study::validate::simulations::Simulations;

/// The simulated sweeps, and the names of their machines.
const MACHINES: [(&str, &str); 2] = [("apex-map-smp", "hypothetical SMP"), ("apex-map-vector", "hypothetical vector")];
const SUBTITLE: &str = "256 processes, 64 Mwords each, two-sided; simulated";

/// Draws the figures of the machines that are simulated. Adds the others to `missing`.
pub fn draw(simulations: &Simulations, missing: &mut Vec<String>) -> Result<Vec<Drawn>> {
    let mut grids = Vec::new();
    for (sweep, name) in MACHINES {
        let Some(samples) = simulations.samples(sweep) else {
            missing.push(format!("the surface of the {name} machine is not simulated"));
            continue;
        };
        let request = Request {
            kind: FigureKind::Contour,
            title: name.to_owned(),
            x: BLOCK.into(),
            by: vec![ALPHA.into()],
            z: "bytes_per_second_per_rank".into(),
        };
        if let Figure::Contour(grid) = plot::figure(samples, &request)? {
            grids.push(Grid { subtitle: SUBTITLE.into(), ..grid });
        }
    }
    let mut drawn: Vec<Drawn> = (3..).zip(&grids).map(|(number, grid)| surface(number, grid)).collect();
    if let [smp, vector] = &grids[..] {
        drawn.push(ratio(smp, vector));
        let panels = Panels { title: "Contours".into(), subtitle: SUBTITLE.into(), grids: grids.clone() };
        drawn.push(Drawn {
            name: "apex-map-contours".into(),
            caption: "As Figure 7: contours of both surfaces on one scale. On the paper's SMP the fast area is long along the spatial axis, on \
                      its vector machine along the temporal axis."
                .into(),
            figure: Figure::Panels(panels),
        });
    }
    Ok(drawn)
}

fn surface(number: usize, grid: &Grid) -> Drawn {
    let grid = grid.transpose();
    let view = View::of_grid(&grid);
    Drawn {
        name: format!("apex-map-surface-{number}"),
        caption: format!("As Figure {number}: bandwidth per process of the {} machine.", grid.title),
        figure: Figure::Surface(grid, view),
    }
}

fn ratio(smp: &Grid, vector: &Grid) -> Drawn {
    let mut grid = smp.clone();
    grid.title = "Vector machine relative to the SMP".into();
    grid.z = Quantity { label: "vector / SMP".into(), unit: Unit::None, log: true };
    grid.values = &vector.values / &smp.values;
    let view = View::of_grid(&grid.transpose());
    let ratios =
        Ratios { grid: grid.transpose(), undecided: Vec::new(), undecided_label: "equal", unfinished: Vec::new() };
    Drawn {
        name: "apex-map-ratio".into(),
        caption: "As Figure 6: ratio of both surfaces. The paper's vector machine is faster where blocks are long, most where temporal \
                  locality is poor."
            .into(),
        figure: Figure::Ratios(ratios, RatioForm::Surface(view)),
    }
}
