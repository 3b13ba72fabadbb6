"""The families of models."""

from .cards import Card

MODELS = [
    Card(
        "linear",
        {
            ("table", "regress"): "ftheta.models.linear.linear:LinearRegression",
            ("table", "classify"): "ftheta.models.linear.logistic:LogisticRegression",
        },
        "Least squares and logistic regression, with their statistics.",
        compare_rows=1_000_000,
    ),
    Card(
        "basis",
        {("table", "regress"): "ftheta.models.linear.basis:BasisRegression"},
        "Polynomials, sinusoids, Gaussians, hinges and own functions, fitted in closed form.",
    ),
    Card(
        "ridge",
        {("table", "regress"): "ftheta.models.linear.ridge:Ridge"},
        "Least squares with a penalty on squared coefficients; all penalties from one decomposition.",
        compare_rows=1_000_000,
    ),
    Card(
        "lasso",
        {("table", "regress"): "ftheta.models.linear.lasso:Lasso"},
        "Least squares with a penalty that sets coefficients to zero, with a proof of optimality.",
    ),
    Card(
        "elastic-net",
        {("table", "regress"): "ftheta.models.linear.lasso:ElasticNet"},
        "Least squares with both penalties: of the lasso and of ridge.",
    ),
    Card(
        "lda",
        {("table", "classify"): "ftheta.models.linear.discriminant:LinearDiscriminant"},
        "Gaussian classes of one covariance: linear boundaries, in closed form.",
        compare_rows=1_000_000,
    ),
    Card(
        "qda",
        {("table", "classify"): "ftheta.models.linear.discriminant:QuadraticDiscriminant"},
        "Gaussian classes, each with its own covariance: quadratic boundaries, in closed form.",
    ),
    Card(
        "fisher",
        {("table", "classify"): "ftheta.models.linear.discriminant:FisherDiscriminant"},
        "Fisher's directions, along which classes are furthest apart, and decisions along them.",
    ),
    Card(
        "gaussian-nb",
        {("table", "classify"): "ftheta.models.linear.generative:GaussianNaiveBayes"},
        "Naive Bayes: features that are independent Gaussians in each class.",
        compare_rows=1_000_000,
    ),
    Card(
        "discrete-nb",
        {("table", "classify"): "ftheta.models.linear.generative:DiscreteNaiveBayes"},
        "Naive Bayes of categories: a table of probabilities for each feature and class.",
    ),
    Card(
        "perceptron",
        {("table", "classify"): "ftheta.models.linear.perceptron:Perceptron"},
        "Planes by Rosenblatt's rule or the delta rule, one row after the other.",
    ),
    Card(
        "whitening",
        {("table", "transform"): "ftheta.models.linear.whitening:Whitening"},
        "Columns scaled to variance 1, or whitened so that their covariance is the identity.",
    ),
    Card(
        "mlp",
        {
            ("table", "classify"): "ftheta.models.dense.mlp:MLPClassifier",
            ("table", "regress"): "ftheta.models.dense.mlp:MLPRegressor",
        },
        "Multi-layer perceptron: dense layers with an activation between them.",
        compare_rows=1_000_000,
    ),
    Card(
        "svm",
        {
            ("table", "classify"): "ftheta.models.margin.svm:SVMClassifier",
            ("table", "regress"): "ftheta.models.margin.svm:SVMRegressor",
        },
        "Support vector machine: the widest margin between classes, or a tube around numbers, with kernels.",
    ),
    Card(
        "tree",
        {
            ("table", "classify"): "ftheta.models.tree.tree:TreeClassifier",
            ("table", "regress"): "ftheta.models.tree.tree:TreeRegressor",
        },
        "Decision tree: one question after the other, pruned by cross-validation.",
    ),
    Card(
        "forest",
        {
            ("table", "classify"): "ftheta.models.tree.forest:ForestClassifier",
            ("table", "regress"): "ftheta.models.tree.forest:ForestRegressor",
        },
        "Random forest: the mean of many trees of resampled rows.",
        compare_rows=1_000_000,
    ),
    Card(
        "boosting",
        {
            ("table", "classify"): "ftheta.models.tree.boosting:BoostingClassifier",
            ("table", "regress"): "ftheta.models.tree.boosting:BoostingRegressor",
        },
        "Gradient boosting: trees that correct each other, with missing cells and categories as they are.",
        compare_rows=1_000_000,
    ),
    Card(
        "adaboost",
        {("table", "classify"): "ftheta.models.tree.forest:AdaBoostClassifier"},
        "AdaBoost: small trees with weighted votes, each grown where those before it are wrong.",
    ),
    Card(
        "convnet",
        {("image", "classify"): "ftheta.models.image.convnet:ConvNetClassifier"},
        "Stages of convolutions and poolings, then dense layers.",
        compare_rows=1_000_000,
    ),
    Card(
        "resnet",
        {("image", "classify"): "ftheta.models.image.convnet:ResNetClassifier"},
        "Residual blocks of convolutions: nets that are deep and train all the same.",
    ),
    Card(
        "unet",
        {("image", "segment"): "ftheta.models.image.unet:UNetSegmenter"},
        "U-Net: a class for every pixel, by an hourglass of convolutions with skips across.",
    ),
    Card(
        "hopfield",
        {("table", "recall"): "ftheta.models.energy.hopfield:HopfieldNetwork"},
        "Hopfield network: patterns as states of rest, recalled from noisy cues.",
    ),
    Card(
        "modern-hopfield",
        {("table", "recall"): "ftheta.models.energy.modern_hopfield:ModernHopfield"},
        "Memories with sharper energies: far more patterns than units; the update is attention.",
    ),
    Card(
        "rbm",
        {("table", "generate"): "ftheta.models.energy.rbm:RestrictedBoltzmannMachine"},
        "Restricted Boltzmann machine: hidden units that explain rows; samples, fills in, scores.",
    ),
    Card(
        "dbm",
        {("table", "generate"): "ftheta.models.energy.dbm:DeepBoltzmannMachine"},
        "Deep Boltzmann machine: layers of hidden units, trained together.",
    ),
    Card(
        "boltzmann",
        {("table", "generate"): "ftheta.models.energy.boltzmann:BoltzmannMachine"},
        "General Boltzmann machine: every pair of units connected; exact for small ones.",
    ),
    Card(
        "module",
        {
            ("table", "classify"): "ftheta.models.dense.module:ModuleClassifier",
            ("table", "regress"): "ftheta.models.dense.module:ModuleRegressor",
        },
        "Your own PyTorch module as an estimator.",
    ),
]

ALIASES = {  # what others call them
    **dict.fromkeys(("logistic", "logistic-regression", "linear-regression", "ols", "least-squares"), "linear"),
    **dict.fromkeys(("cnn", "conv", "lenet"), "convnet"),
    **dict.fromkeys(("nn", "dense", "neural-network", "multilayer-perceptron"), "mlp"),
    **dict.fromkeys(("elasticnet", "elastic_net"), "elastic-net"),
    **dict.fromkeys(("nb", "naive-bayes", "gaussiannb"), "gaussian-nb"),
    **dict.fromkeys(("polynomial", "poly"), "basis"),
    **dict.fromkeys(("svc", "svr", "support-vector-machine"), "svm"),
    **dict.fromkeys(("decision-tree", "cart"), "tree"),
    **dict.fromkeys(("random-forest", "rf", "bagging"), "forest"),
    **dict.fromkeys(("gradient-boosting", "gbm", "hist-gradient-boosting"), "boosting"),
    **{"u-net": "unet", "associative-memory": "hopfield", "restricted-boltzmann-machine": "rbm"},
}
