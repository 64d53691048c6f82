import anthropic

import seen

client = anthropic.Anthropic(base_url=seen.BASE, api_key="sk-ant-croakcroakcroakcroakcroak")
question = {"model": "frog-1", "max_tokens": 100, "messages": [{"role": "user", "content": "What is a frog?"}]}
seen.line("whole", client.messages.create(**question).content[0].text)
with client.messages.stream(**question, extra_query={"gap": "100"}) as stream:
    for event in stream:
        if event.type in ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"):
            seen.piece(event.type, str(getattr(event, "delta", "")).encode())
    seen.line("text", stream.get_final_text())
