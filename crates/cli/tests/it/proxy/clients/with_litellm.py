import os

# Else it asks the network for prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

import seen

litellm.telemetry = False
ask = {
    "model": "openai/frog-1",
    "messages": [{"role": "user", "content": "What is a frog?"}],
    "api_base": seen.BASE + "/v1",
    "api_key": "sk-croakcroakcroakcroakcroakcroak",
    "max_retries": 0,
}
whole = litellm.completion(**ask)
seen.line("whole", whole.choices[0].message.content)
# What it takes up with the first piece hides when the others come, so no times are told.
for chunk in litellm.completion(**ask, stream=True):
    seen.line("delta", repr(chunk.choices[0].delta.content or ""))
