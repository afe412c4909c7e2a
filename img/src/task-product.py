"""Draws img/task-product.svg: the numbers that one number of a product needs.

Run: python img/src/task-product.py
"""

from matrices import COUNT, product
from svg import save, target_of

ROW, COLUMN = 2, 5

if __name__ == "__main__":
    filled = {
        "a": {(ROW, k) for k in range(COUNT)},
        "b": {(k, COLUMN) for k in range(COUNT)},
        "out": {(ROW, COLUMN)},
    }
    text = "a thread multiplies a row by a column"
    save(product(filled, text), target_of(__file__))
