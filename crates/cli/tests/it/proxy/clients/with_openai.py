import openai

import seen

client = openai.OpenAI(base_url=seen.BASE + "/v1", api_key="sk-croakcroakcroakcroakcroakcroak")
question = [{"role": "user", "content": "What is a frog?"}]
whole = client.chat.completions.create(model="frog-1", messages=question)
seen.line("whole", whole.choices[0].message.content)
for chunk in client.chat.completions.create(model="frog-1", messages=question, stream=True, extra_query={"gap": "100"}):
    seen.piece("delta", (chunk.choices[0].delta.content or "").encode())
