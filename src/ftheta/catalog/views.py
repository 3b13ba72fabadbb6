"""The explanations. An object can give one if it has the attributes of `needs`; an nn.Module counts as its module_."""

from .cards import View

_NET, _LOSS = "module_", "module_ target_ objective batch"
_IMAGES, _ENERGY = "ftheta.explain.images", "ftheta.models.energy"
_TABLE = "predict n_features_in_"
_MARGIN = "ftheta.models.margin"
_MEMORY, _CLASSES = "patterns_ recall trace energy", "classes_ n_features_in_ predict"

VIEWS = [
    View(
        *("importance", "ftheta.explain.predictions.importance:importance", _TABLE, "Which columns matter?"),
        *("Growth of the test loss when the cells of a column are permuted among the rows.", 2),
    ),
    View(
        *("dependence", "ftheta.explain.predictions.dependence:dependence", _TABLE),
        "How does the prediction follow the strongest columns?",
        *("Mean prediction, and that of single rows, when one column is set to each of its values.", 4),
    ),
    View(
        *("attribution", "ftheta.explain.predictions.attribution:attribution", _TABLE, "Why this prediction?"),
        *("The columns that moved the prediction of one row away from the mean: Shapley values.", 6),
    ),
    View(
        *("margins", f"{_MARGIN}.margins:margins", "optimality_ classes_ decision_function"),
        *(
            "Which rows hold the boundary?",
            "Rows on the margins, within and beyond, and which may be removed.",
            12,
        ),
    ),
    View(
        *("tube", f"{_MARGIN}.margins:tube", "optimality_ epsilon_ predict", "Which rows hold the fit?"),
        *("Rows within the tube, which may be removed, and outside.", 12),
    ),
    View(
        *("optimality", f"{_MARGIN}.proof:optimality", "optimality_", "Is it solved?"),
        *("Duality gap and violated conditions of the solution, beside the tolerance.", 46),
    ),
    View(
        *("leave-one-out", f"{_MARGIN}.proof:leave_one_out", "optimality_ classes_ decision_function"),
        "How well will it do on new rows?",
        *("The error of leaving one row out, beside bounds from support vectors and margin.", 83, "slow"),
    ),
    View(
        *("coefficients", "ftheta.explain.predictions.coefficients:coefficients", "coef_ intercept_ n_features_in_"),
        "How does each column change the prediction?",
        *("Coefficients with intervals per unit and per standard deviation of their columns.", 14),
    ),
    View(
        *("path", "ftheta.explain.predictions.coefficients:path", "coefficient_path coef_"),
        *("What does the penalty do?", "Every coefficient against the penalty, with the one that was chosen.", 18),
    ),
    View(
        *("statistics", "ftheta.explain.predictions.linear:statistics", "n_features_in_ summarize"),
        "Which coefficients differ from zero?",
        *("Standard errors, tests and diagnostics, from the rows that the model was fitted to.", 20),
    ),
    View(
        *("class-axes", "ftheta.models.linear.class_axes:class_axes", f"{_CLASSES} gaussian priors_"),
        "Where are the classes?",
        *("Gaussian classes on the two axes that tell them apart best, with their boundary.", 14),
    ),
    View(
        *("class-means", "ftheta.models.linear.class_axes:class_means", f"{_CLASSES} priors_"),
        "What tells the classes apart?",
        *("The mean of every column in each class, in standard deviations.", 18),
    ),
    View(
        *("fitted-curve", "ftheta.explain.predictions.planes:fitted_curve", "n_features_in_ predict"),
        "How does the prediction follow the data?",
        *("A curve over one feature, or a surface over two, with a line for every residual.", 22),
    ),
    View(
        *("regions", "ftheta.explain.predictions.planes:regions", _CLASSES, "Which class wins where?"),
        *("Predicted classes and their probabilities on the plane of two features.", 24),
    ),
    View(
        *("densities", "ftheta.models.linear.densities:densities", f"{_CLASSES} gaussian", "Where are the classes?"),
        *("Ellipses of constant density of Gaussian classes, with the boundary between the classes.", 26),
    ),
    View(
        *("segmentation", "ftheta.explain.predictions.pictures:segmentation", "classes_ ignore_label predict"),
        *("Which pixels are which class?", "Images, true and predicted classes, and the overlap of each class.", 28),
    ),
    View(
        *("recall", f"{_ENERGY}.explain_memories:recall", _MEMORY, "Are patterns recalled from noise?"),
        *("Patterns, the same with noise, and the states some steps later.", 30),
    ),
    View(
        *("basins", f"{_ENERGY}.explain_memories:basins", _MEMORY, "Which state does each start lead to?"),
        *("Shares of random starts that lead to each state, and a picture of a plane.", 32),
    ),
    View(
        *("energy-surface", f"{_ENERGY}.energy_surface:energy_surface", _MEMORY, "How does the energy fall?"),
        *("The energy of a memory, and the paths of states down to where they stay.", 34),
    ),
    View(
        *("equilibria", f"{_ENERGY}.explain_memories:equilibria", f"{_MEMORY} equilibria", "Which states stay?"),
        *("All equilibria of a small memory, with eigenvalues: stored, spurious, or not attracting.", 36),
    ),
    View(
        *("samples", "ftheta.explain.predictions.pictures:samples", "sample", "What does the model generate?"),
        *("New rows, beside the training rows that are nearest to them.", 38),
    ),
    View(
        *("fill-in", f"{_ENERGY}.explain_machines:fill_in", "fill_in module_", "Can it fill in what is missing?"),
        *("Rows of images removed and filled in, beside the truth and the error of the mean image.", 40),
    ),
    View(
        *("curves", "ftheta.explain.predictions.training:curves", "history_", "How did training go?"),
        *("Learning curves, with the best epoch.", 42),
    ),
    View(
        *("saliency", f"{_IMAGES}.saliency:saliency", _NET, "Which pixels decide?"),
        *("Which places of an image or signal increase an output, and which decrease it.", 44),
    ),
    View(
        *("feature-maps", f"{_IMAGES}.features:feature_maps", _NET, "What does each layer see?"),
        *("One image or signal, its maps after each layer, and the output probabilities.", 46),
    ),
    View(
        *("filters", f"{_IMAGES}.features:filters", "module_|gibbs", "What do the first layers look for?"),
        *("Weights of a convolution or a machine as images; kernels beside known ones of their size.", 48),
    ),
    View(
        *("chains", f"{_ENERGY}.explain_machines:chains", "gibbs module_", "How far do the Gibbs chains get?"),
        *("Gibbs chains that start at rows: the states on the way, and how far they get.", 49),
    ),
    View(
        *("summary", "ftheta.explain.layers.summary:summary", _NET, "What is the net made of?"),
        *("Layers with shapes, parameters and multiply-adds, as seen in one pass.", 50),
    ),
    View(
        *("gradient-flow", "ftheta.explain.gradients.flow:gradient_flow", _LOSS),
        "Does the gradient reach every layer?",
        *("The gradient of the objective at these rows, tensor by tensor, without penalties.", 52),
    ),
    View(
        *("activations", "ftheta.explain.layers.summary:activations", _NET, "Are units dead or saturated?"),
        *("Statistics of the output of every layer for these rows.", 54),
    ),
    View(
        *("network", "ftheta.explain.layers.network:network", _NET, "What does the net look like?"),
        *("Circles and lines of a dense network, with the shapes of its parameters.", 56, "quick", "summary"),
    ),
    View(
        *("diagram", "ftheta.explain.layers.diagram:diagram", _NET, "How are the layers connected?"),
        *(
            "The graph of a net with convolutions: every layer that runs, its output, and every skip.",
            58,
            "quick",
            "summary",
        ),
    ),
    View(
        *("top-patches", f"{_IMAGES}.units:top_patches", _NET, "Which inputs excite a unit?"),
        *("The parts of the rows that excite the units of each layer most.", 60),
    ),
    View(
        *("receptive-field", f"{_IMAGES}.fields:receptive_field", _NET, "How much does a unit see?"),
        *("The field of the middle unit of each layer: computed, and from its gradient.", 62),
    ),
    View(
        *("saliency-check", f"{_IMAGES}.saliency:saliency_check", _NET, "Can the saliency be trusted?"),
        *("Whether saliency depends on the weights: they are randomized layer by layer from the output down.", 64),
    ),
    View(
        *("solvers", "ftheta.explain.predictions.linear:solvers", "coef_ intercept_ n_features_in_"),
        "How do solvers reach the minimum?",
        *("The loss over two coefficients, without any penalty, and the path of every solver.", 80, "slow"),
    ),
    View(
        *(
            "row-influence",
            "ftheta.explain.predictions.linear:row_influence",
            "coef_ intercept_ n_features_in_",
            "What can one row do to the fit?",
        ),
        *("What one row does to the fit of a linear model as it is moved.", 82, "slow"),
    ),
    View(
        *("backprop", "ftheta.explain.gradients.backprop:backprop", _LOSS, "How is a gradient computed?"),
        *("A forward pass, a backward pass and a step of gradient descent, with every number.", 84, "slow"),
    ),
    View(
        *("film", "ftheta.explain.gradients.film:film", _LOSS, "What does one step of training do?"),
        *("A forward pass, a backward pass and an update of a small net, step by step, as a page.", 85, "slow"),
    ),
    View(
        *("landscape", "ftheta.explain.surface.landscape:landscape", _LOSS, "What does the loss look like here?"),
        *("The loss around the weights along two directions, in evaluation mode, without penalties.", 86, "slow"),
    ),
    View(
        *("spectrum", "ftheta.explain.surface.spectrum:spectrum", _LOSS, "How sharp is the minimum?"),
        *("Eigenvalues of the Hessian of the loss at the weights, without penalties.", 88, "slow"),
    ),
    View(
        *("learning-rate", "ftheta.explain.surface.learning_rate:learning_rate", "optimizer prepare"),
        *("Which learning rate suits?", "A short training of a copy, in which the learning rate grows.", 90, "slow"),
    ),
    View(
        *("gradient-history", "ftheta.explain.predictions.training:gradient_history", "prepare|gradient"),
        "Do gradients vanish or explode?",
        *("Norms of gradients over a run: a recorded one, or a copy that is trained for some steps.", 92, "slow"),
    ),
    View(
        *("synthesize", f"{_IMAGES}.units:synthesize", _NET, "Which input would excite a unit most?"),
        *("The input that excites a unit most: a class, or a place in the middle of a map.", 94, "slow"),
    ),
    View(
        *("equivariance", f"{_IMAGES}.fields:equivariance", _NET, "Does a shifted input shift the maps?"),
        *("How far f(t(x)) is from t(f(x)) and from f(x), for every layer and transformation.", 96, "slow"),
    ),
]
