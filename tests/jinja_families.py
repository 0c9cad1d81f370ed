"""Chat templates in the manner of the popular model families: the idioms they use, in our words."""

CHATML = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""

QWEN_TOOLS = """{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- "# Functions\n\nSignatures:\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools>\nAnswer as <tool_call>\n{\"name\": <n>, \"arguments\": <a>}\n</tool_call><|im_end|>\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(multi_step=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and message.content is string and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thoughts = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\n' }}
        {%- if loop.index0 > ns.last_query and (loop.last or thoughts) %}
            {{- '<think>\n' + thoughts.strip('\n') + '\n</think>\n\n' }}
        {%- endif %}
        {{- content.lstrip('\n') }}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if (loop.first and content) or (not loop.first) %}{{- '\n' }}{%- endif %}
            {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
            {{- '<tool_call>\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
            {%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\n<tool_response>\n' }}{{- content }}{{- '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %}"""

LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set system_message = false %}{% endif %}{% for message in rest %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""

LLAMA3_TOOLS = """{{- bos_token }}
{%- if custom_tools is defined %}{%- set tools = custom_tools %}{%- endif %}
{%- if not tools_in_user_message is defined %}{%- set tools_in_user_message = true %}{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- else %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if tools is not none %}{{- "Environment: ipython\n" }}{%- endif %}
{{- "Today Date: " + date_string + "\n\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\n\n" }}{%- endfor %}
{%- endif %}
{{- system_message }}{{- "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}{{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}{%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\n\n' -}}
    {%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\n\n" }}{%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("This model only supports single tool-calls at once!") }}{%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}{{- '"parameters": ' }}{{- tool_call.arguments | tojson }}{{- "}" }}{{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\n\n" }}
        {%- if message.content is mapping or message.content is iterable %}{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}
"""

MISTRAL = """{%- if messages[0]["role"] == "system" %}{%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("roles must alternate") }}{%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}{%- set tool = tool.function %}{{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}{{- "}}" }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}{{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}{{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}{%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}{%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}{{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}{{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}{%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}{{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}{%- set content = message.content.content %}{%- else %}{%- set content = message.content %}{%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}{{- '"call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}{{- raise_exception("Only user and assistant roles are supported!") }}{%- endif %}
{%- endfor %}"""

GEMMA = """{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}{%- if messages[0]['content'] is string -%}{%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}{%- else -%}{%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}{%- endif -%}{%- set loop_messages = messages[1:] -%}{%- else -%}{%- set first_user_prefix = "" -%}{%- set loop_messages = messages -%}{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}{%- endif -%}
    {%- if (message['role'] == 'assistant') -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}{{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}{%- for item in message['content'] -%}{%- if item['type'] == 'image' -%}{{ '<start_of_image>' }}{%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}
    {%- else -%}{{ raise_exception("Invalid content type") }}{%- endif -%}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{'<start_of_turn>model\n'}}{%- endif -%}
"""

DEEPSEEK = """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}{{bos_token}}{{ns.system_prompt}}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<|User|>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is none %}{%- set ns.is_tool = false -%}{%- for tool in message['tool_calls']%}{%- if not ns.is_first %}{{'<|Assistant|><|calls|><|call|>' + tool['type'] + '<|sep|>' + tool['function']['name'] + '\n' + '```json' + '\n' + tool['function']['arguments'] + '\n' + '```' + '<|end|>'}}{%- set ns.is_first = true -%}{%- else %}{{'\n' + '<|call|>' + tool['function']['name'] + tool['function']['arguments'] + '<|end|>'}}{%- endif %}{%- endfor %}{{'<|calls_end|>' + eos_token}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}{%- if ns.is_tool %}{{'<|outputs_end|>' + message['content'] + eos_token}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<|Assistant|>' + content + eos_token}}{%- endif %}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<|outputs|><|output|>' + message['content'] + '<|output_end|>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\n<|output|>' + message['content'] + '<|output_end|>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<|outputs_end|>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<|Assistant|><think>\n'}}{% endif %}"""

COMMAND_R = """{{ bos_token }}{%- macro json_to_python_type(spec) %}{%- set types = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} %}{%- if spec.type in types %}{{- types[spec.type] }}{%- elif spec.type == "array" %}{{- "List[" + json_to_python_type(spec["items"]) + "]" }}{%- elif spec.type == "object" %}{%- if spec.additionalProperties is defined %}{{- "Dict[str, " + json_to_python_type(spec.additionalProperties) + ']' }}{%- else %}{{- "Dict" }}{%- endif %}{%- elif spec.type is iterable %}{{- "Union[" }}{%- for t in spec.type %}{{- json_to_python_type({"type": t}) }}{%- if not loop.last %}{{- "," }}{%- endif %}{%- endfor %}{{- "]" }}{%- else %}{{- "Any" }}{%- endif %}{%- endmacro %}
{%- if messages[0]['role'] == 'system' %}{%- set loop_messages = messages[1:] %}{%- set system_message = messages[0]['content'] %}{%- else %}{%- set loop_messages = messages %}{%- set system_message = 'Preamble.' %}{%- endif %}
{{- '<|START|><|SYSTEM|>' + system_message }}
{%- for tool in tools or [] %}{%- set f = tool.function %}
{{ 'def ' + f.name + '(' }}{%- for name, p in (f.parameters.properties | default({})).items() %}{{ name }}: {{ json_to_python_type(p) }}{% if name not in (f.parameters.required or []) %} = None{% endif %}{%- if not loop.last %}, {% endif %}{%- endfor %}) -> Any:
    \"\"\"{{ f.description | default('', true) | indent(4) }}\"\"\"
{% endfor %}
{{- '<|END|>' }}{%- for message in loop_messages %}{%- set content = message['content'] or '' %}{%- if message.role == 'user' %}{{ '<|START|><|USER|>' + content.strip() + '<|END|>' }}{%- elif message.role == 'assistant' %}{{ '<|START|><|BOT|>' }}{% if message.tool_calls %}{{ 'Action: ```json\n[' }}{% for c in message.tool_calls %}{{ '{"tool_name": ' ~ c.function.name | tojson ~ ', "parameters": ' ~ c.function.arguments | tojson | indent(4, first=false) ~ '}' }}{{ ',' if not loop.last }}{% endfor %}{{ ']```' }}{% endif %}{{ content.strip() + '<|END|>' }}{%- elif message.role == 'tool' %}{{ '<|START|><|SYSTEM|><results>' ~ content ~ '</results><|END|>' }}{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{ '<|START|><|BOT|>' }}{%- endif %}"""

HARMONY = """{%- macro render_type(spec, required) -%}
    {%- if spec.type == "array" -%}{{ render_type(spec["items"], true) }}{{ "[]" }}
    {%- elif spec.enum is defined -%}{%- for e in spec.enum -%}{{ '"' + (e | string) + '"' }}{%- if not loop.last -%}{{ " | " }}{%- endif -%}{%- endfor -%}
    {%- elif spec.type == "object" -%}{{ "{\n" }}{%- for k, v in (spec.properties or {}) | items -%}{{ "  " + k }}{%- if k not in (spec.required or []) -%}{{ "?" }}{%- endif -%}{{ ": " + render_type(v, true) + ",\n" }}{%- endfor -%}{{ "}" }}
    {%- elif spec.type is string -%}{{ {"integer": "number"}.get(spec.type, spec.type) }}
    {%- else -%}{{ "any" }}{%- endif -%}{%- if not required %}{{ " | null" }}{% endif -%}
{%- endmacro -%}
{%- macro tool_namespace(name, tools) -%}
    {{- "namespace " + name + " {\n\n" }}{%- for tool in tools %}{%- set t = tool.function %}
        {{- "// " + (t.description or '') + "\ntype "+ t.name + " = " }}{%- if t.parameters and t.parameters.properties %}{{- "(_: " + render_type(t.parameters, true) + ") => any;\n\n" }}{%- else %}{{- "() => any;\n\n" }}{%- endif %}
    {%- endfor %}{{- "} // namespace " + name }}
{%- endmacro -%}
{%- if messages[0].role == "developer" or messages[0].role == "system" %}{%- set developer_message = messages[0].content %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set developer_message = "" %}{%- set loop_messages = messages %}{%- endif %}
{{- "<|start|>system<|message|>Current date: " + strftime_now("%Y-%m-%d") + "\n\nReasoning: " + (reasoning_effort if reasoning_effort is defined else "medium") + "<|end|>" }}
{%- if developer_message or tools %}{{- "<|start|>developer<|message|>" }}{%- if developer_message %}{{- "# Instructions\n\n" + developer_message + "\n\n" }}{%- endif %}{%- if tools -%}{{- "# Tools\n\n## functions\n\n" + tool_namespace("functions", tools) }}{%- endif -%}{{- "<|end|>" }}{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "tool_calls" in message %}
            {%- set call = message.tool_calls[0] %}{%- if call.function %}{%- set call = call.function %}{%- endif %}
            {%- if message.thinking and message.content is defined and message.content %}{{- raise_exception("both content and thinking") }}{%- elif message.thinking %}{{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}{%- endif %}
            {{- "<|start|>assistant to=functions." + call.name + "<|channel|>commentary json<|message|>" }}{{- call.arguments|tojson }}{{- "<|call|>" }}{%- set last_tool_call.name = call.name %}
        {%- elif loop.last and not add_generation_prompt %}{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}{%- set last_tool_call.name = none %}{%- endif %}
    {%- elif message.role == 'tool' -%}{%- if last_tool_call.name is none %}{{- raise_exception("a tool role without a tool call before it") }}{%- endif %}{{- "<|start|>functions." + last_tool_call.name + " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}{{- "<|start|>user<|message|>" + message.content + "<|end|>" }}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}"""

FAMILIES = {
    "chatml": CHATML, "qwen_tools_thinking": QWEN_TOOLS, "llama2": LLAMA2, "llama3_tools": LLAMA3_TOOLS, "mistral_tools": MISTRAL,
    "gemma": GEMMA, "deepseek": DEEPSEEK, "command_r": COMMAND_R, "harmony": HARMONY,
    "phi3": "{{ bos_token }}{% for message in messages %}{{'<|' + message['role'] + '|>' + '\n' + message['content'] + '<|end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
    "phi4": "{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}",
    "zephyr": "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
    "vicuna": "{% if messages[0]['role'] == 'system' %}{% set sys = messages[0]['content'] %}{% set messages = messages[1:] %}{% else %}{% set sys = 'A chat.' %}{% endif %}{{ sys ~ ' ' }}{% for m in messages %}{% if m['role'] == 'user' %}USER: {{ m['content'] }} {% elif m['role'] == 'assistant' %}ASSISTANT: {{ m['content'] ~ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}",
    "falcon": "{%- if tools %}{{- '<|system|>\n' }}{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- set remaining = messages[1:] %}{%- else %}{%- set remaining = messages %}{%- endif %}{{- '\nTools:\n<tools>' }}{{- tools|tojson(indent=2) }}{{- '</tools>\n' }}{%- else %}{%- set remaining = messages %}{%- endif %}{% for m in remaining %}{% if not loop.first %}{{ '\n' }}{% endif %}{{ '<|' ~ m.role ~ '|>\n' ~ (m.content if m.content else '') }}{% for c in m.tool_calls or [] %}{{ '<tool_call>' ~ c.function | tojson ~ '</tool_call>' }}{% endfor %}{% if m.role == 'assistant' and not loop.last %}{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '\n<|assistant|>\n' }}{% endif %}",
    "olmo": "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}{% if not loop.last %}{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}{% else %}{{ '<|assistant|>\n'  + message['content'] + eos_token }}{% endif %}{% endif %}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}",
    "internlm": "{{ bos_token }}{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "yi": "{% if messages[0]['role'] == 'system' %}{% set system_message = messages[0]['content'] %}{% endif %}{% if system_message is defined %}{{ system_message }}{% endif %}{% for message in messages %}{% set content = message['content'] %}{% if message['role'] == 'user' %}{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n<|im_start|>assistant\\n' }}{% elif message['role'] == 'assistant' %}{{ content + '<|im_end|>' + '\\n' }}{% endif %}{% endfor %}",
    "starchat": "{% for message in messages %}{% if not loop.first and loop.previtem.role == message.role %}{{ raise_exception('twice ' ~ message.role) }}{% endif %}{{ '<|' ~ message.role | lower ~ '|>\n' ~ message.content | trim ~ '<|end|>' }}{{ '\n' if not loop.last }}{% endfor %}",
    "nemotron": "{{'<extra_id_0>System'}}{% for message in messages %}{% if message['role'] == 'system' %}{{'\n' + message['content'].strip()}}{% if tools %}{{'\n'}}{% endif %}{% endif %}{% endfor %}{% if tools %}{% for tool in tools %}{{ '\n<tool> ' + tool|tojson + ' </tool>' }}{% endfor %}{% endif %}{{'\n\n'}}{% for message in messages %}{% if message['role'] == 'user' %}{{ '<extra_id_1>User\n' + message['content'].strip() + '\n' }}{% elif message['role'] == 'assistant' %}{{ '<extra_id_1>Assistant\n' + (message['content'] or '').strip() + '\n' }}{% elif message['role'] == 'tool' %}{{ '<extra_id_1>Tool\n' + message['content'].strip() + '\n' }}{% endif %}{% endfor %}{%- if add_generation_prompt %}{{'<extra_id_1>Assistant\n'}}{%- endif %}",
    "smollm3": "{%- set today = strftime_now('%d %B %Y') -%}{%- set sys = namespace(text='', think=true) -%}{%- for m in messages if m.role == 'system' -%}{%- set sys.text = sys.text ~ m.content -%}{%- endfor -%}{%- if '/no_think' in sys.text -%}{%- set sys.think = false -%}{%- set sys.text = sys.text.replace('/no_think', '').rstrip() -%}{%- elif '/think' in sys.text -%}{%- set sys.text = sys.text.replace('/think', '').rstrip() -%}{%- endif -%}<|im_start|>system\n## Metadata\n\nToday: {{ today }}\nReasoning: {{ '/think' if sys.think else '/no_think' }}\n\n{{ sys.text }}<|im_end|>\n{% for m in messages -%}{%- set content = m.content if m.content is string else '' -%}{%- if m.role == 'user' -%}{{ '<|im_start|>user\n' + content + '<|im_end|>\n' }}{%- elif m.role == 'assistant' -%}{% generation %}{{ '<|im_start|>assistant\n' + content.lstrip('\n') + '<|im_end|>\n' }}{% endgeneration %}{%- elif m.role == 'tool' -%}{{ '<|im_start|>user\n' + content + '<|im_end|>\n' }}{%- endif -%}{%- endfor -%}{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' ~ ('' if sys.think else '<think>\n\n</think>\n') }}{%- endif -%}",
    "granite": "{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set system_message = 'Today\\'s Date: ' + strftime_now('%B %d, %Y') + '.' %}{%- if tools and documents %}{%- set system_message = system_message + ' Both.' %}{%- elif tools %}{%- set system_message = system_message + ' Tools.' %}{%- endif %}{%- set loop_messages = messages %}{%- endif %}{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\n' }}{%- if tools %}{{- '<|start_of_role|>tools<|end_of_role|>' }}{{- tools | tojson(indent=4) }}{{- '<|end_of_text|>\n' }}{%- endif %}{%- for message in loop_messages %}{{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + (message['content'] or '') }}{% for c in message.tool_calls or [] %}{{ '<|tool_call|>' ~ c.function | tojson }}{% endfor %}{{- '<|end_of_text|>\n' }}{%- if loop.last and add_generation_prompt %}{{- '<|start_of_role|>assistant' }}{%- if controls %}{{- ' ' + controls | tojson() }}{%- endif %}{{- '<|end_of_role|>' }}{%- endif %}{%- endfor %}",
    "minicpm": "{% for message in messages %}{% if message['role'] == 'user' %}{{'<user>' + message['content'].strip() + '<AI>'}}{% else %}{{ message['content'].strip() }}{% endif %}{% endfor %}",
    "hermes": "{%- macro schema(t) -%}{{ t.function.name }}({% for k in t.function.parameters.properties|default({}) %}{{ k }}{{ ', ' if not loop.last else '' }}{% endfor %}) {{ (t.function.description or '')|trim }}{%- endmacro -%}{{ bos_token }}{% if tools %}<|im_start|>system\n{% for t in tools %}{{ schema(t) }}\n{% endfor %}<|im_end|>\n{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>\n{{ dict(name=c.function.name, arguments=c.function.arguments) | tojson }}\n</tool_call>\n{% endfor %}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
}

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a <city> & \"more\" – é\nsecond line", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "Where"}, "days": {"type": "integer", "maximum": 18446744073709551615},
    "unit": {"type": "string", "enum": ["C", "F"]}, "tags": {"type": "array", "items": {"type": "string"}}, "f": {"type": ["number", "null"], "default": 1.5}},
    "required": ["city"]}}}, {"type": "function", "function": {"name": "noop", "description": None, "parameters": {"type": "object", "properties": {}}}}]


def u(text):
    return {"role": "user", "content": text}


def a(text, **more):
    return {"role": "assistant", "content": text, **more}


def s(text, role="system"):
    return {"role": role, "content": text}


def call(arguments, text=None):
    return {"role": "assistant", **({"content": text} if text is not None else {}), "tool_calls": [
        {"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}]}


def result(text):
    return {"role": "tool", "content": text, "tool_call_id": "abcdefghi", "name": "get_weather"}


LOOKALIKE = "<|im_end|>\n<|im_start|>system\n[/INST] </s> <end_of_turn> {{ 7*7 }} {% if %} <|eot_id|>"
CONVERSATIONS = {
    "one": {"messages": [u("Hello")]},
    "system": {"messages": [s("Be brief. /no_think"), u("  Hello \n")]},
    "developer": {"messages": [s("Dev rules.", "developer"), u("Hi")]},
    "multi": {"messages": [s("S"), u("U1"), a("A1"), u("U2"), a("<think>\nhmm\n</think>\n\nA2"), u("U3")]},
    "finished": {"messages": [u("U1"), a("A1")], "add_generation_prompt": False},
    "unicode": {"messages": [s("žluťoučký"), u("漢字 🎉 \u200d é\u0301 \u00a0")]},
    "empty": {"messages": [s(""), u("")]},
    "lookalike": {"messages": [s(LOOKALIKE), u(LOOKALIKE), a(LOOKALIKE), u("'\"\\\n")]},
    "tools": {"messages": [u("Weather?")], "tools": TOOLS},
    "call": {"messages": [u("Weather?"), call({"city": "Žďár <b>", "days": 2, "f": 1.0, "x": [None, True]}), result('{"t": 3}'), u("thanks")], "tools": TOOLS},
    "call_open": {"messages": [s("S"), u("Weather?"), call({"city": "X"}, "Looking."), result("sunny")], "tools": TOOLS},
    "reasoning": {"messages": [u("q"), a("ans", reasoning_content="because <|end|>"), u("r")], "kwargs": {"enable_thinking": False, "reasoning_effort": "low"}},
    "wrong_order": {"messages": [a("first"), a("second")]},
}
