# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matrices cageN of A. van Heukelum, G. T. Barkema, R. H. Bisseling, DNA electrophoresis studied with the cage model, J. Comput.
Phys. 180, 2002: transitions of a polymer of N monomers on a cubic lattice in a field along its diagonal.

A bond between two monomers is one of six unit steps, three of them along the field. In a time step one of the N monomers is tried: an end
takes a new place next to its neighbour, and a monomer whose two bonds are opposite (a kink) one next to its two neighbours, each of the six
with the probability e^(E/2) or e^(-E/2), along the field or against it, over that of all six. Two polymers are of one state where
the same stretches of them are closed and the same bonds go along the field, also after the polymer is reversed.

a_ij is the probability that j becomes i. States are in the order of their closed stretches, short ones first, as bits of a number, and of
the bonds along the field, as bits of another: so they are the matrices of the collection, to rounding (cage3, 4, 5 and 7 were compared)."""
import itertools
import math

FIELD = 0.2


def is_closed(stretch):
    """Does it end where it begins?  Steps d and 5 - d undo each other, as neighbours and once what is between them is gone."""
    open_steps = []
    for step in stretch:
        if open_steps and open_steps[-1] == 5 - step:
            open_steps.pop()
        else:
            open_steps.append(step)
    return not open_steps


def state_of(bonds):
    """Steps 0, 1, 2 go along the field."""
    count = len(bonds)
    stretches = [(begin, begin + size) for size in range(2, count + 1, 2) for begin in range(count - size + 1)]

    def numbers(word):
        return (sum(is_closed(word[begin:end]) << bit for bit, (begin, end) in enumerate(stretches)),
                sum((step < 3) << bit for bit, step in enumerate(word)))
    return min(numbers(bonds), numbers(tuple(5 - step for step in reversed(bonds))))


def moves(bonds):
    """Polymers that one step makes of this one, and whether a monomer goes along the field in it."""
    for step in range(6):
        along = step < 3
        yield (*bonds[:-1], step), along
        yield (step, *bonds[1:]), not along
        for k in range(len(bonds) - 1):
            if bonds[k] + bonds[k + 1] == 5:
                yield (*bonds[:k], step, 5 - step, *bonds[k + 2:]), along


def cage(monomers):
    """The number of states, and {(i, j): a_ij} from 0."""
    chosen = {}
    for bonds in itertools.product(range(6), repeat=monomers - 1):
        chosen.setdefault(state_of(bonds), bonds)
    number = {state: k for k, state in enumerate(sorted(chosen))}
    entries = {}
    for state, bonds in chosen.items():
        column, stays = number[state], 1.0
        for moved, along in moves(bonds):
            row = number[state_of(moved)]
            chance = math.exp(FIELD / 2 if along else -FIELD / 2) / (6 * math.cosh(FIELD / 2) * monomers)
            entries[row, column] = entries.get((row, column), 0.0) + chance
            stays -= chance
        entries[column, column] = entries.get((column, column), 0.0) + stays
    return len(number), entries


def matrix_market(monomers):
    rows, entries = cage(monomers)
    lines = ["%%MatrixMarket matrix coordinate real general", f"{rows} {rows} {len(entries)}"]
    return "\n".join(lines + [f"{i + 1} {j + 1} {value!r}" for (i, j), value in sorted(entries.items(), key=lambda entry: entry[0][::-1])]) + "\n"
