import wisp
from tests.graph_passes.common import check, check_unchanged


def test_a_function_of_the_host_is_what_it_called():
    check(
        "host_gradients",
        """\
        graph(%x : Tensor):
          %name : str = prim::Constant[value="program.Function.1"]()
          %inputs : Tensor[] = prim::ListConstruct(%x)
          %there : bool = aten::_gradient_by_host(%name, %inputs)
          %y : Tensor = prim::If(%there)
            block0():
              %own : Tensor = prim::HostCall[name="program.Function.1"](%x)
              -> (%own)
            block1():
              %recorded : Tensor = aten::exp(%x)
              -> (%recorded)
          return (%y)
        """,
        """\
        graph(%x : Tensor):
          %name : str = prim::Constant[value="program.Function.1"]()
          %inputs : Tensor[] = prim::ListConstruct(%x)
          %0 : bool = prim::Constant[value=False]()
          %y : Tensor = prim::If(%0)
            block0():
              %own : Tensor = prim::HostCall[name="program.Function.1"](%x)
              -> (%own)
            block1():
              %recorded : Tensor = aten::exp(%x)
              -> (%recorded)
          return (%y)
        """,
        (wisp.ones(2),),
    )


def test_others_stay():
    check_unchanged(
        "host_gradients",
        """\
        graph(%x : Tensor):
          %y : Tensor = aten::exp(%x)
          return (%y)
        """,
    )
