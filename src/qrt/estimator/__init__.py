"""The methods of the study for data of one's own: a scikit-learn regressor and the distributions that it predicts."""
