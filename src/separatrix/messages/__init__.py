"""The messages of the library, as data: a code and values, which every medium puts into words.

A warning, finding, remedy or refusal that the command line words differently from Python is a
:class:`Message`. It is a string with Python's words, and keeps what they were made of, so that no
code has to read a sentence: another :class:`Wording` has words of its own for the same record.
"""

from __future__ import annotations

import ast
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

__all__ = [
    "PYTHON",
    "TEMPLATES",
    "Column",
    "Joined",
    "Message",
    "Parameter",
    "Record",
    "Row",
    "Setting",
    "Wording",
    "clause",
    "counted",
    "join",
    "message_of",
    "of_record",
    "percent",
    "plural",
    "quoted",
    "record_of",
    "sentences",
    "short",
    "shortened",
]

# ------------------------------------------------------------------------------------- templates

#: Python's sentences by code.  A name in braces is a value of the message, or else one of the
#: phrases of the medium; ``{tol=:g}`` is a parameter with its value, ``{penalty='l2'}`` one with
#: this value and ``{name:C}`` the name of one, all as the medium writes them.
TEMPLATES: dict[str, str] = {
    # The meaning of each way of stopping, and what to do about it: ``certificate.REMEDIES``.
    "cause.max_iter": "the iteration limit came before {tol=:g}",
    "advice.max_iter": "raise max_iter, or standardise the features",
    "cause.time_limit": "the time limit came before {tol=:g}",
    "advice.time_limit": "raise {name:time_limit}",
    "cause.interrupted": "interrupted before {tol=:g}",
    "advice.interrupted": "this is the best iterate so far, and a new fit starts over",
    "cause.callback": "a callback ended the fit",
    "advice.callback": "this is the best iterate so far",
    "cause.no_margin": "the best weights are zero: with this nu, the reduced hulls of the two "
    "sides (or of the one class and the origin) overlap",
    "advice.no_margin": "give a larger nu, or another kernel",
    "cause.precision_limit": "float64 arithmetic can make no further progress towards {tol=:g}",
    "advice.precision_limit": "standardise the features, or accept this gap",
    "cause.vanishing": "the objective has fallen below 1e-28 of what it is at weights and an "
    "intercept of zero, where a gap relative to it says nothing",
    "advice.vanishing": "accept this fit: no other is better by more than this gap",
    "cause.memory_limit": "more rows are near the kink of the loss than fit in memory, and a part "
    "of them leads no closer to {tol=:g}",
    "advice.memory_limit": "allow scan more memory, or accept this gap",
    "cause.separable": "a hyperplane separates the classes and no penalty limits the weights, so "
    "there is no finite optimum",
    "advice.separable": "add a penalty ({penalty='l2'}); {separability} has the proof",
    "cause.quasi_separable": "a direction separates some of the rows and no penalty limits the "
    "weights along it, so float64 finds no finite optimum",
    "advice.quasi_separable": "add a penalty ({penalty='l2'}); {separability} has the proof and "
    "names the columns",
    "cause.unattained": "the objective falls on along a direction in which no penalty limits the "
    "weights, so float64 finds no finite optimum",
    "advice.unattained": "add a penalty ({positive_alpha})",
    "cause.not_separable": "no hyperplane separates the classes, so there is no margin to maximise",
    "advice.not_separable": "a finite {name:C} allows for overlap",
    "cause.not_separated": "no pass was free of mistakes",
    "advice.not_separated": "separable classes may need more passes (raise {name:max_passes}; "
    "{separability} decides whether they are); LinearSVC and LogisticRegression allow for overlap",
    "cause.non_finite": "the arithmetic overflowed",
    "advice.non_finite": "this is the last finite iterate; standardise the features",
    "cause.indefinite": "the kernel's matrix is not positive semidefinite, so the problem is not "
    "convex and no bound holds",
    "advice.indefinite": "these weights are stationary to {tol=:g}; kernel='rbf' or 'poly' with "
    "coef0 >= 0 has a bound",
    "cause.averaged": "the last weights make no mistake, but their average, which is returned, "
    "still makes some",
    "advice.averaged": "average=False returns the last weights",
    "cause.small_step": "the steps fell below {name:step_tol} before {tol=:g}",
    "advice.small_step": "lower step_tol, or choose a schedule whose rates fall more slowly",
    "cause.stalled": "the mean objective of the passes no longer fell by more than {tol=:g}, so "
    "the steps stopped before the gap was as small",
    "advice.stalled": "lower tol, or leave the parameters of the steps (learning_rate, eta0, "
    "average, ...) out for a certified optimum",
    "cause.early_stopped": "the score on the held-out rows no longer improved, so the fit stopped "
    "before {tol=:g}",
    "advice.early_stopped": "early_stopping=False continues to tol",
    "cause.above_tol": "the point is further from the optimum than {tol=:g}",
    "advice.above_tol": "fit it with a smaller tolerance",
    # Where a column is known to be to blame for "precision_limit".
    "advice.offset": "subtract about {offset:g} from column {column}, whose values are close "
    "together but far from zero, or accept this gap",
    # Where one is known whose weight has no end.
    "advice.unattained_column": "add a penalty ({positive_alpha}), or leave out column {column}, "
    "along which the scores of rows without counts fall for ever",
    # Where one column's scale drowns the others in a kernel.
    "advice.scale": "standardise the features, or set gamma='scale': the values of column {column} "
    "are so large that its products drown those of the others",
    "remedy": "{cause}; {advice}",
    "certificate": "{outcome}; {remedy}",
    # Parameters.
    "out_of_range": "{setting} must be {range}.",
    "unknown_choice": "{setting} is not known; choose one of {choices}.",
    "strength_twice": "Give {name:C} or {name:lam}, not both: {given_C} and {given_lam} set the "
    "same thing twice ({name:C} = 1 / ({name:lam} n)).",
    "mixture_of_l1": "{penalty} and {l1_ratio} contradict each other; for a mixture of L1 and L2 "
    "leave penalty out, or set penalty='elasticnet'.",
    "mixture_of_none": "{penalty} and {l1_ratio} contradict each other; leave one of them out.",
    "blocks_to_fit": "{model} cannot be fitted in passes over row blocks: it needs all rows at "
    "once, as X and y.",
    "blocks_as_matrix": "{model} needs a matrix here, and was given row blocks: take one after "
    "the other, as block.load().matrix for each of data.blocks.",
    "too_many_levels": "column {column} has about {about:,} different texts, more than can be "
    "features within the memory that was given; leave it out ({ignored}), or give more memory",
    "too_many_words": "column {column} has more than {about:,} different words, more than can be "
    "counted within the memory that was given; leave it out ({ignored}), or give more memory",
    "missing_in_file": "column {column} lacks {count:,} of {rows:,} values, the first in {where}; "
    "fill them in, or leave those rows out with {drop_missing_target=True}",
    "no_passes": "{model} cannot be fitted in passes over row blocks: {why}.",
    "hard_margin_in_passes": "single rows decide a hard margin: give a finite {name:C}",
    "calibrate_in_passes": "calibration needs the rows of its folds: leave out {name:calibrate}",
    "no_penalty_in_passes": "without a penalty there is no bound in passes: give a weak penalty",
    "multinomial_in_passes": "without a penalty there is no bound in passes for several classes at "
    "once: give a weak penalty, or multiclass='ovr'",
    "kernel_in_passes": "a kernel matrix has a row and a column for every row; lift the blocks by "
    "an approximation (separatrix.scale.lifting.lifted) and fit a linear model to them",
    "scoring_in_passes": "its folds are scored by accuracy: leave out {name:scoring}",
    "hinge_needs_l2": "loss='hinge' goes with the L2 penalty only; for weights that are exactly "
    "zero leave loss at 'squared_hinge', or set penalty='l2' and l1_ratio=0.",
    "hard_margin_needs_l2": "The hard margin, C=inf or lam=0, is defined for the L2 norm; with an "
    "L1 penalty give a finite C.",
    "approximation_needs_finite_C": "An approximation needs a finite C; the hard margin, C=inf, "
    "has none.",
    "fourier_needs_rbf": "approximation='fourier' is for kernel='rbf'; use 'nystroem' for other "
    "kernels.",
    "no_surface": "C=inf needs a surface of the kernel {kernel} that separates {sides}, and "
    "float64 cannot distinguish the best one from a surface that touches both{proof}; give a "
    "finite C, which allows for overlap.",
    # Fits.
    "early_stopping_rows": "early_stopping=True needs two different rows of some class, one to "
    "fit and one to hold out; give more rows, or set early_stopping=False.",
    "rate_out_of_range": "{learning_rate='optimal'} with the initial rate {rate:.3g} and {alpha} "
    "exceeds the range of float64; {similar_scales}.",
    "no_rate_found": "{eta0='search'} found no learning rate at which the steps stay finite; "
    "{similar_scales}.",
    "calibration_rows": "{calibrate} needs two rows of every class, one to fit and one to "
    "calibrate on, and class {label} has 1; add rows of it, leave it out, or set calibrate=None.",
    "calibration_folds": "The probabilities are based on fits to {folds} folds, {early} of which "
    "did not reach tol and returned their best iterate; the first: {first}",
    "rows_of_a_fold": "one of the folds holds out all rows of class {label}, so that none is left "
    "to fit; give fewer folds, stratified ones ({cv}), or more rows of that class.",
    "path": "{parts}",
    "path_above_tol": "{missed} of {total} fits ended above their tolerance ({values}; the worst: "
    "{worst})",
    "path_folds_above_tol": "{missed} fits to folds ended above their tolerance (the worst: "
    "{worst})",
    "path_not_reached": "the time limit of {limit:g} s left {left} of {total} values without a fit "
    "({values}); raise {name:time_limit}",
    "columns_depend": "{why}; of all solutions that fit equally well, this is the one of smallest "
    "norm. Leave out a column, or {set_lam}.",
    "columns_constant": "{noun} {columns} {verb} constant",
    "columns_depend_on_others": "{columns} {verb} on the other columns, up to rounding",
    "relations": "columns depend on one another: {relations}",
    "more_relations": "{relation} (and {more} more such relations)",
    "bears_powers": "{column} determines powers up to {top}",
    "bears_none": "{column} is constant",
    "more_bear_few": "and {more} more such columns",
    "degree_of_columns": "{degree=} is more than the points determine: by its distinct "
    "values {bears}; the higher powers are left out.",
    "degree_of_rows": "{degree} is more than the points determine: {why}. Among all polynomials "
    "that fit equally well, this is the one with the smallest coefficients in "
    "the orthonormal basis; lower the degree, or {set_lam}.",
    "too_many_terms": "{degree} on {columns:,} columns makes {terms:,} terms{more}, and their Gram "
    "matrix alone takes {size:,.0f} GB (the most is {most:,} terms); lower the degree, leave "
    "columns out, or {set_no_interactions}.",
    "too_wide_for_covariances": "Covariances of {columns:,} columns take {matrices} of "
    "{columns:,} x {columns:,} numbers ({size:,.0f} GB), which do not fit in memory; choose or "
    "combine columns first (sklearn.decomposition.TruncatedSVD), or fit LogisticRegression.",
    "unbiased_covariance": "{covariance='unbiased'} divides by the number of rows minus the number "
    "of classes, which is {divisor:g} here; add rows, or use {covariance='mle'}.",
    "unbiased_covariance_of_class": "{covariance='unbiased'} divides by the number of rows of a "
    "class minus one, which is {divisor:g} for class {label}; add rows of it, or use "
    "{covariance='mle'}.",
    "variance_underflows": "The variance of {columns} underflows; multiply the values by a large "
    "number first.",
    "variance_overflows": "The variance of {columns} overflows; divide the values by a large "
    "number first.",
    "constant_columns": "{columns} {verb} constant{where}",
    "combined_column": "{column} is a combination of {columns}{where}",
    "apart_by_a_constant": "{column} is constant within every class, but not the same in all "
    "({first:.6g} in {first_class}, {other:.6g} in {other_class})",
    "apart_by_a_combination": "within the classes {column} is a combination of {columns}, but not "
    "the same one in all of them",
    "singular_within_classes": "The covariance within the classes is singular{few}: {what}.",
    "singular_in_class": "The covariance of class {label} is singular: {why}.",
    "floored": "{singular} {which} been given a floor, {floor:g} of the variance of each column "
    "over all rows: better shrink the covariance ({shrinkage='auto'}, or a number up to 1), add "
    "rows, or drop the column.",
    "no_floor_helps": "{singular} No floor helps: the weights or the values span more than float64 "
    "can hold together; divide them by their size.",
    "redundant": "{columns}, and so {verb} nothing to the other columns; {kept} of {total} "
    "columns are used.",
    # Memory.
    "out_of_memory": "there is not enough memory{what}: {less_memory}",
    "address_space": "the address space of this process, limited to {limit:,.0f} MB (ulimit -v), "
    "is too small: raise the limit, or {less_memory}",
    "too_little_address_space": "the address space of this process is limited to {limit:,.0f} MB "
    "(ulimit -v), and its libraries alone need {least:,.0f} MB: raise the limit",
    "cache_too_large": "the cache of the kernel matrix needs {size:,.0f} MB, which are not "
    "available; set {name:cache_mb} below {budget:g}",
    # Tables.
    "counts_rows": "column {column} numbers the rows ({first}, {second}, ...), which does not "
    "describe them; leave it out with {ignored}",
    "stray_cells": "column {column}: {cells} {are} no {noun} ({where}) and {count} as missing; "
    "correct the file, or keep what is written with {category}",
    "stray_cells_later": "column {column}: {cells} {are} no {noun} ({where}) and {count} as "
    "missing; correct the file",
    "quantity_read": "column {column} holds {what}: {example} is read as {number}; keep what is "
    "written with {category}",
    "all_in_brackets": "column {column}: all numbers are in brackets, and so are read as negative, "
    "{example} as {number}; where they are positive, take the brackets away",
    "ranges_read": "column {column} holds ranges: read in the order {levels}, as 0 to {last}; keep "
    "them apart with {category}",
    "levels_merged": "column {column}: levels that differ in case, accents, blanks or a full stop "
    "are read as one level ({shown}); keep them apart with {category}, or with {kept} in all "
    "columns",
    "levels_misspelled": "column {column}: levels may be misspelled and are kept apart: {shown}; "
    "correct the file where that is so",
    "list_read": "column {column} holds lists such as {example}: a column for each value "
    "({parts}), none of which an empty cell has; keep what is written with {category}",
    "list_values_later": "column {column}: values not seen at fit have no column and are left out "
    "({values})",
    "coordinates_read": "column {column} holds coordinates such as {example}: read as {parts}; "
    "keep what is written with {category}",
    "amounts_read": "column {column} holds amounts in several currencies, which are not converted: "
    "a column for each ({parts}); give amounts in one currency to compare them",
    "question.clock": "column {column} holds hours and minutes, or minutes and seconds ({text}); "
    "it is left as it is written; read hours and minutes with {number}",
    "question.share": "column {column} holds shares, pairs of numbers or days ({text}); it is left "
    "as it is written; read shares with {number}",
    "question.ranges": "column {column} holds numbers and ranges such as {text}, and not a few "
    "levels in one order; it is left as it is written; to have numbers read, write one in each "
    "cell",
    "question.units": "column {column} holds numbers in units that cannot be converted into one "
    "another ({units}); it is left as it is written; give one unit",
    "two_decimals": "column {column}: {text} is read as {read}; where it means {else_read}, give "
    "{option}",
    "two_orders": "column {column}: nothing tells which number of {text} is the day; it is read "
    "{order}; where that is wrong, give {option}",
    "codes": "column {column} holds codes that begin with a zero, such as {code}, so it is read as "
    "a category; read numbers with {number}",
    "log_would_help": "{columns} {are} positive and skewed: {options} would raise the held-out "
    "{score} of least squares from {before:.3f} to {after:.3f} ({folds}-fold cross-validation of "
    "{rows:,} rows)",
    "curve_of_words": "{term} is a function of numbers, and column {column} holds words or dates; "
    "read numbers with {kind}",
    "category_of_numbers": "{term} is a category, and column {column} holds numbers or text; read "
    "it as levels with {kind}",
    "no_plain_values": "{source}: column {column} holds {group} values, not numbers, dates or "
    "strings; take it apart, or leave it out with {ignored}",
    "no_plain_columns": "{source}: the columns {columns} hold no numbers, dates or strings; take "
    "them apart, or leave them out with {ignore_unusable=True}",
    "marks_read": "column {column}: {cells} read as missing ({shown}); keep what is written with "
    "{category}",
    "placeholder_read": "column {column}: {cells} of {values} read as missing, because all other "
    "values are from {low} to {high}; keep what is written with {number}",
    "placeholder_named": "column {column}: {cells} of {values} {are} apart from all other values, "
    "from {low} to {high}; where that stands for a missing value and not for a limit, read it so "
    "with {missing}",
    "zero_named": "column {column}: {cells} of 0 {are} far from all other values, from {low} to "
    "{high}; where 0 stands for a missing value, read it so with {missing}",
    "placeholder_in_target": "the target {column}: {cells} of {values} {are} apart from all other "
    "values, from {low} to {high}; where that stands for a missing value, read it so with "
    "{missing}",
    "unmet_mark": "no cell of the table is {mark}, so {missing} reads nothing as missing; look how "
    "the value is written",
    "unpacked_limit": "{what} takes more than {limit}, the limit of what a packed file, a workbook "
    "or a view may grow to; {remedy}raise it with {raised}",
    "not_utf8": "{label} {what}; save it as UTF-8, or say what it is with {encoding='latin-1'} or "
    "the like",
    "not_text": "{label} is not a table in text: byte {byte} of the file is 0x00; give a file of "
    "comma-separated values, or one whose name ends with its format (.parquet, .xlsx), or say what "
    "it is with {encoding='utf-16-le'} or the like",
    # Where a table lies in its file.
    "encoding_found": "{source} is not UTF-8; it is read as {encoding}, in which it has words such "
    "as {word}; if that is not what it says, give another {name:encoding}",
    "lines_above": "{source}: the header is {line} {header}, and {lines} above it {are} left out "
    "({shown}); if the table begins there, give {option}",
    "header_of_lines": "{source}: {line}s {first} to {last} are one header, with names such as "
    "{name}; if {line} {last} alone is the header, give {option}",
    "names_of_numbers": "{source}: the names of columns in {line} {header} look like numbers, such "
    "as {shown}; if it is a row, give {option}",
    "header_of_numbers": "{source}: the first line holds numbers ({shown}), of which some are "
    "equal, and no names of columns; put a line of names before it, or give {option}",
    "line_of_units": "{source}: {line} {number} below the header holds units or labels ({shown}), "
    "not values, and is left out; if it is a row, give {option}",
    "name_repeated": "{source}: columns {first} and {other} are both called {name}; the second is "
    "read as {new}",
    "names_repeated": "{source}: {count} more columns have the name of an earlier one, and are "
    "numbered in the same way",
    "lines_below": "{source}: the {lines} {are} no part of the table and {are} left out ({shown}); "
    "if that is a row, give {option}",
    "lines_header": "{source}: {lines} inside the table {is_} the header again and {is_} left out "
    "(first {line} {first}); if the first line of the file is itself a row, put a line of column "
    "names before it",
    "lines_title": "{source}: {lines} inside the table {is_} a line above the header again and "
    "{is_} left out (first {line} {first}: {shown})",
    "lines_total": "{source}: {lines} inside the table {has} sums of other rows and {is_} left out "
    "(first {line} {first}: {shown}); if these are rows, rename their first cells",
    "lines_remark": "{source}: {lines} inside the table {has} a remark in place of cells and {is_} "
    "left out (first {line} {first}: {shown}); if these are rows, fill in their cells",
    "lines_short": "{source}: {lines} {has} fewer cells than the header, first {line} {first}; "
    "the last cells count as missing",
    "lines_long": "{source}: {lines} {has} more cells than the header, first {line} {first}; the "
    "delimiter is read as part of column {column} there ({shown}); quote the text if that is wrong",
    "more_lines": "{count} more notes of these sorts about other files of {source}",
    "ragged": "{source}, {line} {number}: {fields}, where the header has {width}; correct the "
    '{line} (a value that holds the delimiter needs "quotes"), or say where the table begins and '
    "ends with {header} and {footer}",
    "cut_short": "{source}, line {number}: the file ends within a row ({fields}, where the header "
    "has {width}), so it may have been cut; get it again, or leave the line out with {option}",
    "no_header_line": "{value} is not the number of a header's line; give a number from 1, two "
    "such as 4,5 of a header in two lines, or none where no line has names",
    "no_count_of_lines": "{option} is no number of lines; give a whole number from 0",
    "header_skipped": "{header} is one of the {skip} lines that are left out at the beginning",
    "nothing_below": "{source}: {option} leaves no table among the first lines of the file; give "
    "the number of lines above the table",
    "no_such_line": "{header} names a line that is not among the first lines of the file; give the "
    "number of the line with the names of the columns",
    "sheet_found": "{source}: sheet {sheet} is read, which alone holds a table{wanted}; for "
    "another one ({others}) give {option}",
    "several_sheets": "{source} has {count} {noun}s ({names}); name one, such as "
    "{source}::{first}, or with {option}",
    "sheet_twice": "{source}::{inner} and {option} name two {noun}s; give one of them",
    "no_sheets": "{source} has no sheets or tables to name by {option}, which only workbooks and "
    "databases have",
    "merged_cells": "{source}: {cells} below the header {are} read as its value in every row",
    "memory_only": "{what} can only be read into memory; read it with read_table, or save it as a "
    "Parquet or CSV file",
    "no_column_kept": "every column of {source} is left out; keep at least one",
    "no_usable_column": "{source} has no column that a model can use{why}",
    "not_in_order": "column {column}, row {row}: {value} is none of the levels that {name:ordered} "
    "puts in order ({listed}); add it to them, or leave the cell empty to count as missing",
    "several_columns": "{count} columns cannot be read: {faults}",
    "not_a_number": "column {column}, row {row}: {value} is not a {kind}; correct it, or give the "
    "column another kind, such as {category}",
    "almost_a_quantity": "column {column} would be a quantity but for {value} in row {row}, which "
    "is not a number; correct it, or leave out such rows with {missing} and "
    "{drop_missing_target=True}, or insist on classes with {category}",
    "placeholder_label": "column {column} has the label {label} (first in row {row}), which may "
    "stand for a missing one; leave out such rows with {missing} and {drop_missing_target=True}, "
    "or make it a class with {category}",
    "one_label_or_none": "column {column} has the label {label} or none; make rows without a label "
    "the class {blank} with {category}; where their label is not known, there is one class alone, "
    "and nothing to learn",
    "quantity_as_text": "column {column} looks like a quantity whose numbers are text ({value} in "
    "row {row}); read them with {number}, or insist with {category}",
    "commas_in_quantity": "column {column} would be a quantity but for its commas ({value} in row "
    "{row}); write numbers with a decimal point, and thousands without a mark, or insist with "
    "{category}",
    "free_text_as_classes": "{distinct}: it looks like free text or an identifier, not like "
    "classes; name another target, or insist with {category}",
    "quantity_as_classes": "{distinct}: it looks like a quantity, not like classes; predict it as "
    "it is by least squares ({least_squares}), cut it into classes, name another target, or "
    "insist with {category}",
    "classes_as_quantity": "column {column} holds classes ({value} in row {row}), not a quantity "
    "to predict; {remedy}",
    "read_as_number": "if it is a quantity, read it as one with {number}",
    "too_few_to_hold_out": "{rows} too few to hold out a share of {share:g}: one part would be "
    "empty; give more rows, or hold out none ({test_size=0})",
    "missing_target": "column {column} lacks {count:,} of {rows:,} {what}, the first in row {row}; "
    "fill them in, or leave those rows out (Table.drop_missing)",
    "of_role": "{role}: {fault}",
    # Columns that are no features, in one sentence.
    "left_out": "{count:,} columns are left out: {parts}",
    "left_out_because": "{columns} {why}",
    # Class weights make rare classes count more than they are.
    "weights_shift": "class weights shift the probabilities: their mean for {label} is {mean} on "
    "rows of which {share} are of it",
    "without_weights": "fit without class_weight where probabilities must be frequencies, and "
    "choose a threshold instead; of a model without probabilities calibrate makes them then",
    # The scores of a fit beside its random split.
    "score_group": "{scores}   ({columns} repeats: its rows on one side; {options})",
    "score_time": "{scores}   (the latest rows by {columns}; {options})",
    "score_without": "{scores}   (without {columns}; {options})",
    "falls_by_group": "rows of one {column} resemble one another, and the random split has them on "
    "both sides: {random} there, and {score} where each {column} is on one side; {option} splits "
    "so",
    "falls_by_time": "the latest rows by {column} are predicted worse than rows at random: "
    "{score} instead of {random}; {option} holds them out",
    "no_fall_in_sample": "column {column} may tell how rows belong together, but of a sample of "
    "{count:,} rows those that {option} holds out are predicted about as well as rows at random: "
    "{score} instead of {random}",
    "no_score_by": "there is no score of rows split by {column}: {why}",
    "leak_alone": "column {column} alone predicts held-out rows with {score}; if it is not known "
    "before the target, leave it out with {option}",
    "leaks": "columns that seem to give the target away: {columns}; with them {score}, without "
    "them {fewer}",
    "leak_together": "column {column} nearly gives the target away together with others: with it "
    "{score}, without it {fewer}; if it is not known before the target, leave it out with {option}",
    "one_group": "all rows belong to one group, so no group can be held out",
    "few_groups": "{folds} folds need as many groups, and there {are}.",
    "few_times": "{parts} parts that follow in time need as many different times, and there are "
    "{times}",
    "times_alone": "times make forward folds of a number of them, cv; give no groups beside them, "
    "and no other cv",
    "class_not_before": "fold {fold} of {folds} in the order of time has no row of class {label} "
    "to fit; give fewer folds, or leave the rows of that class out",
    "no_order_of_dates": "{order} is not a date order; give {known}, or a format such as %d/%m/%Y",
    "query": "the query cannot be answered: {fault}",
    "role_in_words": "column {column} holds {value}, which is not a {what}; {kind} reads it as one",
    "not_split_as_fit": "{rows} cannot be split as those of the fit were, of which a share of "
    "{share:g} was held out; give the table of the fit",
    "hold_out_latest": "hold out the latest rows ({time})",
    "class_held_out": "all rows of class {label} would be held out, and none fitted; hold out a "
    "smaller share ({share}), or give another {seed}",
    "single_rows": "none of the {rows} rows can be held out, because every class has a single "
    "row; give more rows, or hold out none ({test_size=0})",
    # Summaries.
    "summary_of_penalised": "a penalty draws the estimates towards zero, so that their sampling "
    "distribution is not the one that standard errors and p-values assume; fit with {without} for "
    "a summary.",
    "summary_of_one_vs_rest": "one-vs-rest fits a separate model to each class, and these have no "
    "joint likelihood; fit with {multiclass='multinomial'} for a summary.",
    "summary_of_weighted": "class_weight changes how often rows count, so that standard errors "
    "would be wrong; fit with class_weight=None for a summary.",
    "summary_of_separable": "the likelihood has no finite maximum, and so no standard errors: "
    "{cause}; leave out the columns that {separability} names as the cause.",
    "summary_of_unfinished": "there are no standard errors for {fit} ({certificate}).",
    "summary_of_loose": "the certified gap of {gap:.2g} only proves that the estimates are within "
    "{off:.2g} standard errors of the maximum of the likelihood; fit with {tol}.",
    "summary_without_information": "this fit kept no information matrix, because it has more than "
    "{most:,} coefficients, or it would have taken longer than the fit or its time limit, or the "
    "likelihood has no finite maximum: give the rows again, {summary}.",
    "summary_of_infinite": "the likelihood has no finite maximum: a further step would still move "
    "the scores; {separability} tells whether the classes can be separated in part, and a penalty "
    "gives finite estimates, without p-values.",
    "summary_of_dependent": "the coefficients of columns that depend on one another have no "
    "standard errors, because the data do not tell them apart: {columns}; leave one of them out "
    "(or, if it is a matter of a large offset, {remove_offset}).",
    "leverage_one": "{robust} is not defined here: one row is fitted exactly whatever its target "
    "(leverage 1), so its residual shows nothing; leave out the column that only this row has, or "
    "use HC1.",
    # Exact arithmetic.
    "exact_equations": "{rigorous=True} encloses an objective and its lower bound, but {model} "
    "solves equations: verify it without {rigorous=True}.",
    "exact_objective": "{rigorous=True} has no bound for the objective of a {problem}; it covers "
    "margin losses, the multinomial log loss and hard margins.",
    "exact_penalty": "{rigorous=True} does not cover the penalty {penalty}; use verify without "
    "{rigorous=True}.",
    "exact_loss": "{rigorous=True} does not cover the loss {loss}; use verify without "
    "{rigorous=True}.",
    "exact_unknowns": "{rigorous=True} without a penalty solves a system of equations in "
    "fractions, with one unknown for each of {unknowns:,} weights; the limit is {most:,}. Give a "
    "penalty, or use verify without {rigorous=True}.",
    "row_in_the_way": "{row} is {where}, and {wrong:,} of {total:,} rows are",
    "no_such_row": "there is no {row}",
    "row_of_neither_class": "{row} belongs to neither class",
    "negative_multiplier": "the multiplier of {row} is negative",
    "weighted_rows_not_zero": "the weighted rows do not add up to zero: {where} gives {value}",
    "all_rows_not_zero": "all rows together do not add up to zero: {where} gives {value}",
    # Findings.
    "not_optimal": "not optimal: {cause}",
    "judge_by_class": "judge by recall, precision or ROC AUC, and consider "
    "{class_weight='balanced'}",
    "keep_a_penalty": "keep a penalty and choose its strength by cross-validation; {separability} "
    "has the proof",
    "ask_for_separability": "give a {name:time_limit}, or call {separability}",
    "calibrate": "fit with calibrate='sigmoid' or 'isotonic' where probabilities are needed",
    "one_of_many_planes": "the perceptron stops at one of many such planes, and LinearSVC(C=inf) "
    "finds the one with the largest margin",
    "plane_without_kernel": "a plane does that without a kernel, so LinearSVC may do",
    "overfitted": "{stronger}fewer columns or more rows",
    "stronger_penalty": "a stronger penalty (a {direction} {parameter}), ",
}


# --------------------------------------------------------------------------------------- records


class Record:
    """A part of a message that every medium words in its own way."""

    def words(self, wording: Wording) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.words(PYTHON)


@dataclass(frozen=True)
class Setting(Record):
    """A parameter with a value: ``tol=0.001`` in Python.

    Attributes
    ----------
    parameter : str
    value : object
        The value: for ``kinds`` the pair of a column and its kind, for ``missing`` the mark.
    spec : str
        The format specification of the value; empty for its ``repr``.
    """

    parameter: str
    value: Any
    spec: str = ""

    def words(self, wording: Wording) -> str:
        return wording.setting(self)


@dataclass(frozen=True)
class Parameter(Record):
    """A parameter by its name."""

    name: str

    def words(self, wording: Wording) -> str:
        return wording.parameter(self.name)


@dataclass(frozen=True)
class Column(Record):
    """A column by its number, with what Python calls it, such as ``"column 3"`` or ``"'age'"``."""

    number: int
    name: str

    def words(self, wording: Wording) -> str:
        return wording.column(self)


@dataclass(frozen=True)
class Row(Record):
    """A row by its number, from 0."""

    number: int

    def words(self, wording: Wording) -> str:
        return wording.row(self)


@dataclass(frozen=True)
class Joined(Record):
    """Several things in a sentence: ``a, b and 7 more``."""

    items: tuple[Any, ...]
    more: int = 0
    before: str = ""
    separator: str | None = None

    def words(self, wording: Wording) -> str:
        parts = [wording(item) for item in self.items]
        if self.separator is not None:
            return self.before + self.separator.join(parts)
        return self.before + join(parts, self.more)


class Message(str):
    """A sentence in Python's words that keeps its code and its values.

    Parameters
    ----------
    code : str
        A key of ``TEMPLATES``.
    **values : object
        The values that the template names: plain ones, or records of this module.

    Examples
    --------
    >>> from separatrix.messages import Message
    >>> Message("path_not_reached", limit=2.0, left=1, total=9, values="C=1")
    'the time limit of 2 s left 1 of 9 values without a fit (C=1); raise time_limit'
    """

    code: str
    values: Mapping[str, Any]

    def __new__(cls, code: str, /, **values: Any) -> Message:
        made = super().__new__(cls, PYTHON.fill(code, values))
        made.code, made.values = code, values
        return made

    def words(self, wording: Wording) -> str:
        return wording.fill(self.code, self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.code, dict(self.values))


def _remade(code: str, values: dict[str, Any]) -> Message:
    return Message(code, **values)


def record_of(message: str) -> Any:
    """A sentence for JSON: its code and values, where these are plain or settings, or its text.

    Examples
    --------
    >>> from separatrix.messages import Message, Setting, of_record, record_of
    >>> message = Message("few_groups", folds=5, are="are 3")
    >>> record_of(message), of_record(record_of(message)) == message
    (['few_groups', {'folds': 5, 'are': 'are 3'}], True)
    """
    if not isinstance(message, Message):
        return message
    values: dict[str, Any] = {}
    for name, value in message.values.items():
        if isinstance(value, Setting):
            values[name] = [value.parameter, value.value, value.spec]
        elif isinstance(value, (str, int, float)):
            values[name] = value
        else:
            return str(message)
    return [message.code, values]


def of_record(record: Any) -> str:
    """The sentence of :func:`record_of`."""
    if isinstance(record, str):
        return record
    code, values = record
    own = {}
    for name, value in values.items():
        if isinstance(value, list):
            parameter, given, spec = value
            value = Setting(parameter, tuple(given) if isinstance(given, list) else given, spec)
        own[name] = value
    return Message(code, **own)


def message_of(error: BaseException | str) -> str:
    """The message of an exception or a warning, with its record where it has one."""
    if isinstance(error, BaseException):
        first = error.args[0] if error.args else None
        return first if isinstance(first, Message) else str(error)
    return error


# ---------------------------------------------------------------------------------------- media


class Wording:
    """The wording of records by a medium; this one is Python's, and others derive from it.

    Attributes
    ----------
    templates : mapping of str to str
        The sentences by code, where the medium has its own.
    phrases : mapping of str to str
        The phrases that templates name and messages have no value for.
    """

    templates: ClassVar[Mapping[str, str]] = {}
    phrases: ClassVar[Mapping[str, str]] = {
        "least_squares": "take_quantity",
        "less_memory": "use fewer threads, fewer rows or columns, or for kernel machines a smaller "
        "cache_mb",
        "positive_alpha": "alpha > 0",
        "remove_offset": "standardise them",
        "separability": "separatrix.separability(X, y)",
        "set_lam": "set lam > 0",
        "set_no_interactions": "set interactions=False",
        "similar_scales": "standardise the features",
        "summary": "summary(X, y)",
    }

    def __call__(self, value: Any) -> str:
        """Put a record, or the message of an exception, into words; a text stays as it is."""
        if isinstance(value, BaseException):
            value = message_of(value)
        return str(value.words(self) if hasattr(value, "words") else value)

    def fill(self, code: str, values: Mapping[str, Any]) -> str:
        """The sentence of a code."""
        template = self.templates.get(code, TEMPLATES[code])
        return template.format_map(_Fields(self, values))

    def parameter(self, name: str) -> str:
        return name

    def setting(self, setting: Setting) -> str:
        value = setting.value
        if setting.parameter == "kinds":
            return f'kinds={{"{value[0]}": "{value[1]}"}}'
        if setting.parameter == "missing":
            return f'missing=["{value}"]'
        return f"{setting.parameter}={format(value, setting.spec) if setting.spec else repr(value)}"

    def column(self, column: Column) -> str:
        return column.name

    def row(self, row: Row) -> str:
        return f"row {row.number}"


class _Fields:
    """The fields of a template: values of the message, phrases and parameters of the medium."""

    def __init__(self, wording: Wording, values: Mapping[str, Any]) -> None:
        self.wording, self.values = wording, values

    def __getitem__(self, field: str) -> Any:
        if field in self.values:
            value = self.values[field]
            return self.wording(value) if hasattr(value, "words") else value
        if field == "name":
            return _Formatted(self.wording.parameter)
        name, assigned, text = field.partition("=")
        if not assigned:
            return self.wording.phrases[field]
        value = _literal(text) if text else self.values[name]
        return _Formatted(lambda spec: self.wording.setting(Setting(name, value, spec)))


# Where two threads parse at once, `ast` can fail (CPython before 3.11.8).
_parsing = threading.Lock()


@cache
def _literal(text: str) -> Any:
    """The value that a message assigns to a parameter."""
    with _parsing:
        return ast.literal_eval(text)


class _Formatted:
    """A field whose text is made of its format specification."""

    def __init__(self, words: Callable[[str], str]) -> None:
        self.words = words

    def __format__(self, spec: str) -> str:
        return self.words(spec)


class OpenField(str):
    """The value of a field that is filled in later, and until then stands in braces again."""

    def __format__(self, spec: str) -> str:
        return "{" + self + ":" + spec + "}"


PYTHON = Wording()


# ---------------------------------------------------------------------------------------- words


def counted(count: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{count:,} {plural(noun, count)}"


def plural(noun: str, count: float = 2) -> str:
    """``rows``; the noun itself where there is only one."""
    return noun if count == 1 else f"{noun}es" if noun.endswith("ss") else f"{noun}s"


def join(words: Iterable[Any], more: int = 0, comma: str = ", ") -> str:
    """``a, b and c``; ``a, b and 7 more``."""
    parts = [str(word) for word in words]
    if more > 0:
        parts.append(f"{more:,} more")
    if len(parts) < 2:
        return "".join(parts)
    return f"{comma.join(parts[:-1])} and {parts[-1]}"


def sentences(*parts: str) -> str:
    """The parts that are not empty, each a sentence of its own."""
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts if part)


def clause(message: str) -> str:
    """A sentence in one line, without the full stop that what follows would contradict."""
    return " ".join(message.split()).rstrip(".")


def short(name: Any, limit: int = 60) -> str:
    """A name in a line or a table; the end of a very long one is left out."""
    text = str(name)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def quoted(value: Any, limit: int = 60) -> str:
    """A name or a label in a sentence; a long one shortened."""
    return repr(short(value, limit)) if isinstance(value, str) else str(value)


def percent(share: float) -> str:
    """A percentage with enough decimals to distinguish it from 0 and from 100."""
    value = 100.0 * share
    gap = min(value, 100.0 - value)
    if gap <= 0.0:
        return f"{value:.0f} %"
    decimals = max(0, 1 - math.floor(math.log10(gap)))
    return f"{value:.{min(decimals, 10)}f} %"


def shortened(words: Sequence[Any], most: int) -> Joined:
    """The first of many things, and the number of further ones."""
    return Joined(tuple(words[:most]), len(words) - most)
