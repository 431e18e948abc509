/* cli/main.c - parse, dispatch, exit. */
int main(void)
{
    return 0;
}
