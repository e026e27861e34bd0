"""The equations on elements: operators, moduli, faces, absorbing layers, the stable step."""
