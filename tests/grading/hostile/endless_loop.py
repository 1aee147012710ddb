"""Never comes back."""


def resume(world):
    kept = []
    while True:
        kept.append(len(kept) % 7)
        kept = kept[-100:]
