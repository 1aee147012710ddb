# %% [markdown] name="question"
# # A process died. Did its effect happen?
#
# A worker asks a provider for a payment and dies before it hears the answer. Its own record says nothing. This workbook
# teaches you to find out, to write workers that can be resumed, and to say "I do not know" where that is the truth.

# %% [markdown] name="how"
# ## How does a kata go?
#
# 1. **Read** a worker's real source and its story: numbered boundaries between durable facts.
# 2. **Predict** what the rows will say, how sure you are, and why. Being wrong costs nothing; the first prediction stays.
# 3. **Run**: a real process gets SIGKILL at the boundary, and another one resumes.
# 4. **Observe**: say what the rows say, before anything is explained.
# 5. **Check**: what you predicted and read beside what the rows say.
# 6. **Write** that piece of the protocol, and have it killed everywhere.
#
# A kata takes about twenty minutes.

# %% [markdown] name="series"
# ## Which katas are there?
#
# {{series}}

# %% name="progress"
from labkit.ui.notebook import series

series()

# %% [markdown] name="sure"
# ## Are you as right as you are sure?
#
# Each prediction says how sure you are. From ten answers on a plot shows whether that was as much as you were right: it
# is for you, and no points hang on it. Run the cell again after a kata.

# %% name="review"
from labkit.ui.notebook import review

review()

# %% [markdown] name="matrix"
# ## What can be recovered, and how?
#
# | the effect's contract | what makes a retry safe |
# |---|---|
# | pure, or committed together with the progress | replay |
# | takes a key and remembers it | the same key again, and a readback |
# | can be held and confirmed | reserve, confirm, let the hold expire |
# | can be compensated | a second effect with a key of its own |
# | takes no key, answers no question | nothing: stop, record the unknown, let a person reconcile |

# %% [markdown] name="limits"
# ## What does SIGKILL show?
#
# That a process died at one place, and what two durable stores said before and after. It does not show power loss, a
# damaged disk, a remote provider's behaviour, or an exactly-once guarantee.
