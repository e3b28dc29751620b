"""The decode step compiled ahead of time: one foreign call per step, during which the interpreter is free."""



from deepseek.compiled.shape import StepShape, rounded_context

